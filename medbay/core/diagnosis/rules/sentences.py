"""The sentences of errno, of signals and of a few everyday tools, as their translators wrote them in some forty languages.

Taken from the message catalogues of the C library, bash, make, git and apt, in lower case. One alternative a bar.
"""

from __future__ import annotations

import re
from typing import Final

from medbay.core.diagnosis.rule import EXACT, OTHER_SCRIPTS, Rule, rule

SENTENCES: Final = {
    "no_file": (
        "adresár alebo súbor neexistuje|adresář nebo soubor neexistuje|arquivo ou diretório inexistente|"
        "aucun fichier ou dossier de ce type|bestand of map bestaat niet|böyle bir dosya ya da dizin yok|"
        "datei oder verzeichnis nicht gefunden|datoteka ali imenik s tem imenom ne obstaja|"
        "dosiero aŭ dosierujo ne ekzistas|el fitxer o directori no existeix|ficheiro ou pasta inexistente|"
        "file o directory non esistente|filen eller katalogen finns inte|ingen slik fil eller filkatalog|"
        "ingen sådan fil eller filkatalog|không có tập tin hoặc thư mục như vậy|necun tal file o directorio|"
        "nema takve datoteke ili direktorija|nie ma takiego pliku ani katalogu|"
        "nincs ilyen fájl vagy könyvtár|no existe el fichero o el directorio|"
        "non hai tal ficheiro ou directorio|tidak ada berkas atau direktori seperti itu|"
        "tiedostoa tai hakemistoa ei ole|toks failas ar aplankas neegzistuoja|"
        "δεν υπάρχει τέτοιο αρχείο ή κατάλογος|нема такве датотеке или директоријума|"
        "немає такого файла або каталогу|нет такого файла или каталога|няма такога файла ці каталога|"
        "няма такъв файл или директория|そのようなファイルやディレクトリはありません|沒有此一檔案或目錄|没有那个文件或目录|그런 파일이나 디렉터리가 없습니다"
    ),
    "disk": (
        "a fájl túl nagy|arquivo muito grande|aucun espace disponible sur le périphérique|"
        "auf dem gerät ist kein speicherplatz mehr verfügbar|aygıt üzerinde boş yer yok|berkas terlalu besar|"
        "bestand is te groot|brak miejsca na urządzeniu|cota da disco excedida|cota de disco superada|"
        "datoteka je prevelika|der zugewiesene plattenplatz (quota) ist überschritten|die datei ist zu groß|"
        "disk kotası aşıldı|diska kvoto transpasiĝis|diskkvot överskriden|diskkvoten overskredet|"
        "disková kvóta prekročená|dosiero tro grandas|dosya çok büyük|débordement du quota d'espace disque|"
        "el fitxer és massa gran|enheten är full|failas per didelis|ficheiro demasiado grande|"
        "ficheiro muito grande|fichero demasiado grande|fichier trop gros|file troppo grande|for stor fil|"
        "för stor fil|geen ruimte meer over op apparaat|ikke mer plass på enheten|ikke mere plads på enheden|"
        "không có đủ chỗ trống trên thiết bị|laitteella ei ole tilaa jäljellä|lemezkvóta túllépve|"
        "levykiintiö ylittynyt|liian suuri tiedosto|na napravi ni več prostora|"
        "na zariadení už nie je žiadne miesto|na zařízení není volné místo|"
        "ne haviĝas plu da spaco sur aparato|nema više prostora na uređaju|nincs több hely a lemezen|"
        "no queda espacio en el dispositivo|no resta espai al dispositiu|"
        "non hai espacio libre no dispositivo|não há espaço disponível no dispositivo|plik zbyt duży|"
        "prekoračena je dodijeljena kvota (prostor) na disku|prevelika datoteka|przekroczony limit dyskowy|"
        "překročena disková kvóta|quota dis terlampaui|quota disco superata|quota do disco excedida|"
        "schijfquotum is overschreden|se ha excedido la cuota de disco|sem espaço livre no dispositivo|"
        "soubor je příliš velký|spazio esaurito sul device|súbor je príliš veľký|"
        "s’ha excedit la quota de disc|tidak ruang lagi diperangkat|tập tin quá lớn|viršyta disko kvota|"
        "vượt quá hạn ngạch đĩa|įrenginyje neliko vietos|δεν έμεινε καθόλου χώρος στη συσκευή|"
        "ξεπεράστηκε το όριο χρήσης δίσκου|πολύ μεγάλο αρχείο|датотека је превелика|квота диска је премашена|"
        "на устройстве не осталось свободного места|надвишена дискова квота|недостатньо місця на пристрої|"
        "није преостало простора на уређају|няма месца на прыладзе|няма свободно място на устройството|"
        "перавышана дыскавая квота|перевищено квоту диска|превышена дисковая квота|твърде голям файл|"
        "файл вельмі вялікі|файл слишком велик|файл є надто великим|ディスク使用量制限を超過しました|デバイスに空き領域がありません|"
        "ファイルが大きすぎます|文件过大|檔案太大|磁碟配額已滿|裝置上已無多餘空間|设备上没有空间|超出磁盘限额|디스크 할당량이 초과됨|장치에 남은 공간이 없음|파일이 너무 큽니다"
    ),
    "descriptors": (
        "demasiados ficheiros abertos|demasiados ficheros abiertos|el procés té massa fitxers oberts|"
        "el sistema té massa fitxers oberts|for mange åbne filer|for mange åpne filer|för många öppna filer|"
        "liian monta avointa tiedostoa|muitos arquivos abertos|per daug atvertų failų|"
        "preveč odpretih datotek|preveč odprtih datotek v sistemu|previše otvorenih datoteka|"
        "priveľa otvorených súborov|překročen limit počtu otevřených souborů|"
        "quá nhiều tập tin còn đang mở trong hệ thống|quá nhiều tập tin đang mở|te veel open bestanden|"
        "terlalu banyak berkas terbuka|tro da malfermaj dosieroj|trop de fichiers ouverts|troppi file aperti|"
        "túl sok nyitott fájl|v celém systému je příliš mnoho otevřených souborů|za dużo otwartych plików|"
        "zu viele offene dateien|çok fazla açık dosya var|υπερβολικά πολλά ανοικτά αρχεία|"
        "υπερβολικα πολλά ανοικτά αρχεία στο σύστημα|забагато відкритих файлів|превише отворених датотека|"
        "слишком много открытых файлов|твърде много отворени файлове|ファイルを開きすぎです|打开的文件过多|系統中太多的開啟檔案|"
        "系统中打开的文件过多|開啟太多檔案|시스템에 파일을 너무 많이 열었음|열린 파일이 너무 많음"
    ),
    "memory": (
        "bellek ayrılamadı|impossibile allocare memoria|impossível alocar memória|"
        "kan ikke tildele hukommelse|kan ikke tildele minne|kan inte allokera minne|"
        "không thể cấp phát bộ nhớ|mankas sufiĉa memoro|muistin varaaminen ei onnistu|"
        "ne peut allouer de la mémoire|nelze alokovat paměť|nem foglalható memória|nema dovoljno memorije|"
        "nepavyko išskirti atminties|nicht genügend hauptspeicher verfügbar|nie je možné prideliť pamäť|"
        "nie można przydzielić pamięci|no se pudo asignar memoria|no s’ha pogut reservar memòria|"
        "non se pode reservar memoria|não foi possível alocar memória|onvoldoende geheugen beschikbaar|"
        "pomnilnika ni mogoče dodeliti|tidak dapat mengalokasikan memori|δεν είναι δυνατό να δεσμευτεί μνήμη|"
        "не вдалося розподілити пам’ять|не могу да доделим меморију|не може да се задели памет|"
        "невозможно выделить память|немагчыма разьмеркаваць памяць|メモリを確保できません|无法分配内存|無法配置記憶體|"
        "메모리를 할당할 수 없습니다"
    ),
    "permission": (
        "a művelet nem engedélyezett|actie is niet toegestaan|adgang nægtet|bestandssysteem is alleen-lezen|"
        "brak dostępu|das dateisystem ist nur lesbar|datotečni sistem je zgolj za branje|"
        "datotečni sustav je samo za čitanje|die operation ist nicht erlaubt|"
        "el sistema de fitxers és només de lectura|engedély megtagadva|erişim engellendi|"
        "failų sistema tik skaitymui|file system in sola lettura|filsystem med kun lesetilgang|"
        "filsystem med kun læseadgang|hệ thống tập tin chỉ cho đọc|ijin ditolak|ikke tilgang|"
        "i̇şleme izin verilmedi|keine berechtigung|không đủ quyền truy cập|"
        "kirjoitussuojattu tiedostojärjestelmä|lupa evätty|l’operació no és permesa|mankas permeso|"
        "nur-lega dosiersistemo|operace není povolena|operace zamítnuta|operacija neleidžiama|"
        "operacija ni dovoljena|operacija nije dopuštena|operacio ne permesatas|operación no permitida|"
        "operación non permitida|operacja niedozwolona|operasi tidak diijinkan|operasjonen er ikke tillatt|"
        "operationen er ikke tilladt|operationen inte tillåten|operazione non permessa|"
        "operação não permitida|operácia nie je povolená|opération non permise|permesso negato|"
        "permiso denegado|permission non accordée|permissão negada|permissão recusada|pristup je odbijen|"
        "prístup odmietnutý|salt-okunur dosya sistemi|sistem berkas baca-saja|"
        "sistema de arquivos somente para leitura|sistema de ficheiros de só lectura|"
        "sistema de ficheiros só de leitura|sistema de ficheros de sólo lectura|skrivskyddat filsystem|"
        "system plików wyłącznie do odczytu|système de fichiers accessible en lecture seulement|"
        "systém souborů je pouze pro čtení|súborový systém dovoľuje len čítanie|s’ha denegat el permís|"
        "thao tác không được phép|toegang geweigerd|toiminto ei ole sallittu|åtkomst nekas|"
        "írásvédett fájlrendszer|άρνηση πρόσβασης|αναγνώσιμο-μόνο σύστημα αρχείων|"
        "η λειτουργία δεν επιτρέπεται|бракуе правоў|відмовлено у доступі|действието не е позволено|"
        "дзеяньне не дазволена|дію заборонено|овлашћење је одбијено|операция не позволена|отказан достъп|"
        "отказано в доступе|радња није допуштена|систем датотека само за читање|"
        "файлова система само за четене|файлова система тільки для зчитування|"
        "файловая система доступна только для чтения|不允许的操作|只读文件系统|唯讀的檔案系統|拒絕不符權限的操作|权限不够|此項操作並不被允許|許可がありません|"
        "許可されていない操作です|読み込み専用ファイルシステムです|명령을 허용하지 않음|읽기전용 파일 시스템|허가 거부"
    ),
    "exists": (
        "a fájl már létezik|arquivo existe|berkas telah ada|bestand bestaat al|datoteka postoji|"
        "datoteka že obstaja|die datei existiert bereits|dosiero jam ekzistas|el fichero ya existe|"
        "el fitxer ja existeix|failas jau egzistuoja|file già esistente|filen eksisterer|filen existerar|"
        "le fichier existe|o ficheiro existe|o ficheiro xa existe|plik istnieje|soubor již existuje|"
        "súbor existuje|tiedosto on olemassa|tập tin đã sẵn có|το αρχείο υπάρχει|датотека постоји|"
        "файл вже існує|файл существует|файл існуе|файлът съществува|ファイルが存在します|文件已存在|檔案已存在|파일이 있습니다"
    ),
    "network": (
        "a conexión espirou|a hálózat elérhetetlen|a kapcsolatot bontotta a távoli fél|"
        "a név vagy a szolgáltatás nem ismert|a rede está fora de alcance|"
        "aucun chemin d'accès pour atteindre l'hôte cible|ağ erişilebilir durumda değil|"
        "baigėsi prisijungimo laukimo laikas|bağlantı karşıdan kesildi|bağlantı reddedildi|"
        "bağlantıda zaman aşımı|brak trasy do hosta|cesta k počítaču neexistuje|conexión rehusada|"
        "conexión reiniciada polo outro estremo|conexión reinicializada por la máquina remota|"
        "conexión rexeitada|conexão fechada pela outra ponta|conexão recusada|"
        "connessione interrotta dal corrispondente|connessione rifiutata|connessione scaduta|"
        "connexion refusée|connexion ré-initialisée par le correspondant|"
        "connexion terminée par expiration du délai d'attente|das netzwerk ist nicht erreichbar|"
        "der name oder der dienst ist nicht bekannt|"
        "die verbindung wurde vom kommunikationspartner zurückgesetzt|"
        "die wartezeit für die verbindung ist abgelaufen|dočasná chyba pri riešení názvu|"
        "dočasná chyba při vyhodnocování jména|dumtempa malsukceso ĉe nom-eltrovo|"
        "el nom o servei no és conegut|errore temporaneo nella risoluzione del nome|"
        "expiró el tiempo de conexión|falha temporária na resolução de nome|"
        "falha temporário na resolução de nome|fallada temporal a la resolució de noms|"
        "fallo temporal en la resolución del nombre|fallo temporal na resolución de nomes|"
        "forbindelsen brudt i den anden ende|forbindelsen brutt i den andre enden|"
        "förbindelse borttagen av partnern|förbindelsen förvägrad|förbindelsens tidsgräns löpte ut|"
        "gastiganto ne atingeblas|geen route naar host|időtúllépés a kapcsolatban|"
        "ime ali storitev ni poznana|ime ili servis nije poznato|ingen rute til vertsmaskinen|"
        "ingen rute til værtsmaskinen|ingen väg till värd|i̇sim ya da servis bilinmiyor|"
        "i̇sim çözünürlüğünde geçici başarısızlık|jaringan tidak dapat dicapai|k počítači neexistuje cesta|"
        "kapcsolat elutasítva|kegagalan sementara dalam resolusi nama|keine route zum zielrechner|"
        "không có đường dẫn đến máy|không rõ tên hoặc dịch vụ|không thể kết nối mạng|"
        "koneksi direset oleh peer|koneksi ditolak|koneksi kehabisan waktu|konekto rifuziĝas|"
        "konekto simple malekis|konekto transpasis limtempon|kết nối bị từ chối|"
        "kết nối bị đặt lại bởi ngang hàng|kết nối đã quá hạn|la connexió ha expirat|"
        "la màquina remota ha reiniciat la connexió|la red es inaccesible|la rete non è raggiungibile|"
        "la reto ne atingeblas|la xarxa és inabastable|laikinas vardų paieškos sutrikimas|"
        "le réseau n'est pas accessible|ligação expirada|ligação recusada|ligação reposta pelo peer|"
        "makinaya ağ üzerinden yol yok|midlertidig feil i navneoppslag|midlertidig fejl i navneopslag|"
        "mreža nije dostupna|naam of dienst is niet bekend|nama atau layanan tidak diketahui|"
        "name resolution에서 일시적인 실패|namn eller tjänst okänd|namnuppslagning misslyckades temporärt|"
        "navn eller tjeneste ukendt|navn eller tjeneste ukjent|nema trase (rute, puta) do računala|"
        "nessun instradamento per l'host|nettverket er ikke tilgjengelig|netværket er ikke tilgængeligt|"
        "netwerk is onbereikbaar|neznámé jméno nebo služba|nimeä tai palvelua ei tunneta|"
        "nincs útvonal a gép felé|no existe ninguna ruta hasta el `host|no hi ha cap camí cap a l’estació|"
        "nom ou service inconnu|nombre o servicio desconocido|nome o servizio sconosciuto|"
        "nome ou servicio descoñecido|nome ou serviço desconhecido|nomo aŭ servo ne konatas|"
        "non hai unha rota ao servidor|non se pode chegar á rede|názov alebo služba neznáme|"
        "não há rota para o host|nätverket kan inte nås|nėra kelio iki serverio|"
        "odwzorowanie nazwy jest chwilowo niemożliwe|omrežje ni dostopno|opkobling nægtet|"
        "opkoblingen overskred tidsgrænsen|oppkobling nektes|oppkoblingen overskred tidsgrensen|"
        "pavadinimas arba tarnyba nežinoma|"
        "poveznica je prekinuta od druge strane (od ravnopravnoga člana u prijenosu|połączenie odrzucone|"
        "połączenie zerwane przez drugą stronę|prisijungimas atmestas|prisijungimas nutrauktas kito serverio|"
        "privremeni neuspjeh u rješavanju imena|przekroczony czas oczekiwania na połączenie|"
        "razreševanje imena začasno ni uspelo|rede inacessível|reititystä koneeseen ei ole|"
        "sem caminho para o anfitrião|sieć jest niedostępna|sieť nie je dostupná|spojenie odmietnuté|"
        "spojenie zrušené druhou stranou|spojení bylo příliš dlouho neaktivní|spojení odmítnuto|"
        "spojení zrušeno druhou stranou|síť není dostupná|s’ha refusat la connexió|"
        "ta nazwa lub usługa jest nieznana|tempo esgotado para conexão|"
        "temporärer fehler bei der namensauflösung|tidak ada rute ke host|"
        "tijdelijk probleem in naamsherleiding|tilapäinen virhe nimenselvityksessä|tinklas neprieinamas|"
        "tạm thời không thể phân giải tên|vastapää sulki yhteyden|verbinding is geweigerd|"
        "verbinding is verlopen|verbinding is weggevallen|verbindungsaufbau abgelehnt|verkkoa ei tavoiteta|"
        "veza je prekinuta zbog ograničenja vremena čekanja nsa odgovor|veza odbijena|yhteys aikakatkaistu|"
        "yhteys torjuttu|átmeneti névfeloldási hiba|échec temporaire dans la résolution du nom|"
        "časový limit pre spojenie vypršal|απόρριψη σύνδεσης|δεν υπάρχει διαδρομή στο σύστημα|"
        "η σύνδεση έκλεισε από το ταίρι|λήξη σύνδεσης|προσωρινή αποτυχία κατά την ανάλυση ονόματος|"
        "το δίκτυο δεν είναι προσπελάσιμο|το όνομα ή η υπηρεσία δεν είναι γνωστά|адмоўлена ў злучэньні|"
        "в соединении отказано|веза је одбијена|везу је поново поставио парњак|"
        "временен неуспех при определянето на име|временный сбой в разрешении имен|"
        "время ожидания соединения истекло|вузол розірвав з’єднання|"
        "едностранно прекъсване на връзката от отсрещната страна|истекло је време везе|мрежа је недостижна|"
        "мрежата е недостъпна|не вдалося отримати доступ до мережі|не е известно името на услугата|"
        "невідома назва чи сервіс|неизвестное имя или служба|нема путање до рачунара|немає маршруту до вузла|"
        "нет маршрута до узла|није познат назив или сервер|няма маршрут до компютъра|отказано свързване|"
        "перевищено інтервал очікування з'єднання|привремени неуспех одређивања назива|"
        "просрочена мрежова операция|сеть недоступна|соединение разорвано другой стороной|"
        "тимчасова помилка розв'язання назв|у з'єднанні відмовлено|ネットワークに届きません|ホストへの経路がありません|名前またはサービスが不明です|"
        "名前解決に一時的に失敗しました|名稱或服務未知|域名解析暂时失败|找不到通往該主機的路由路徑|拒绝连接|接続がタイムアウトしました|接続が相手からリセットされました|接続を拒否されました|"
        "未知的名称或服务|没有到主机的路由|無法接觸網路|网络不可达|解析名稱時發生暫時性錯誤|连接被对方重设|连接超时|連線被對方重設|連線被拒絕|連線超過時間|네트워크가 접근 불가능합니다|"
        "상대편이 연결을 끊음|연결 시간 초과|연결이 거부됨|이름 혹은 서비스를 알 수 없습니다|호스트로 갈 루트가 없음"
    ),
    "busy": (
        "a cím már használatban van|a szövegfájl foglalt|adres is al in gebruik|adres jest już w użyciu|"
        "adres zaten kullanımda|adresa je používaná|adresa je užívána|adresas jau naudojamas|"
        "adrese se već koriste|adreso jam uziĝas|adresse déjà utilisée|adressen er allerede i brug|"
        "adressen er allerede i bruk|adressen redan upptagen|alamat telah digunakan|"
        "aparato aŭ risurco uziĝas|apparaat of hulpbron is bezig|aygıt ya da özkaynak meşgul|"
        "az eszköz vagy erőforrás foglalt|berkas teks sibuk|besedilna datoteka je v rabi|"
        "das gerät oder die ressource ist belegt|"
        "das programm kann nicht ausgeführt oder verändert werden (busy|die adresse wird bereits verwendet|"
        "dispositivo o recurso ocupado|dispositivo o risorsa occupata|dispositivo ou recurso está ocupado|"
        "dispositivo ou recurso ocupado|el dispositiu o recurs es troba ocupat|"
        "el fichero de texto está ocupado|el fitxer de text es troba ocupat|endereço já em uso|"
        "enheden eller ressourcen optaget|enhet eller resurs upptagen|enheten eller ressursen opptatt|"
        "estase usando o enderezo|ficheiro de texto en uso|ficheiro de texto ocupado|fichier texte occupé|"
        "file di testo occupato|indirizzo già in uso|kodfil upptagen|la dirección ya se está usando|"
        "laite tai resurssi varattu|l’adreça ja és en ús|metin dosyası meşgul|naprava ali vir je v rabi|"
        "naslov je že v rabi|osoite on jo käytössä|perangkat atau sumber daya sibuk|plik wykonywalny zajęty|"
        "programfil opptatt|périphérique ou ressource occupé|soubor je používán|"
        "spustiteľný súbor je používaný|tekstbestand is in gebruik|tekstdosiero uziĝas|tekstfil optaget|"
        "tekstinis failas užimtas|tekstitiedosto varattu|tekstualna datoteka je zauzeta|"
        "thiết bị hoặc tài nguyên đang bận|tập tin văn bản đang bận|uređaj ili resurs je zauzeti|"
        "urządzenie lub zasoby zajęte|zariadenie alebo iný zdroj je používané|"
        "zařízení nebo zdroj jsou používány|área de texto ocupada|địa chỉ đang được dùng|"
        "įrenginys ar resursas užimtas|αρχείο κειμένου σε χρήση|η διεύθυνση υποδοχής είναι ήδη σε χρήση|"
        "συσκευή ή πόροι είναι απασχολημένοι|адрес уже используется|адреса је већ у употреби|"
        "адресу вже використано|адресът вече се използва|зает текстов файл|заето устройство или ресурс|"
        "пристрій або ресурс зайнято|прылада ці расурс заняты|текстовий файл зайнято|текстовый файл занят|"
        "текстуална датотека је заузета|уређај или извориште је заузето|устройство или ресурс занято|"
        "アドレスは既に使用中です|テキストファイルがビジー状態です|デバイスもしくはリソースがビジー状態です|位址已經有在使用|地址已在使用|文字檔忙錄中|文本文件忙|裝置或系統資源忙碌中|设备或资源忙|"
        "실행 파일 사용 중|장치나 자원이 동작 중|주소가 이미 사용 중입니다"
    ),
    "crash": (
        "adres-eraro|bus-eraro|bus-zugriffsfehler|busz hiba|błąd szyny|"
        "błąd w obliczeniach zmiennoprzecinkowych|błędna instrukcja|"
        "chyba na sběrnici (neplatná adresa) (sigbus|chyba na zbernici|chyba segmentácie|"
        "chỉ lệnh không hợp lệ|drijvendekomma-berekeningsfout|eccezione in virgola mobile|"
        "eksepsi titik pecahan|erreur de segmentation|erreur du bus|erro de bus|erro no barramento|"
        "erro no bus de datos|error de bus|error del bus|errore di bus|errore di segmentazione|"
        "excepció de coma flotant|excepción de coma flotante|excepción de coma frotante|"
        "exception en point flottant|excepção de vírgula flutuante|exceção de ponto flutuante|"
        "falha de segmentação|fallo de segmento|falta de segmentação|flyttalsfel|gerçel sayı istisnası|"
        "gleitkomma-ausnahme|glitkomkalkul-eraro|instrucción ilegal|instrucción non permitida|"
        "instruction non permise|instruksi tidak legal|instrução ilegal|istruzione non consentita|"
        "iznimka (broja) pomičnog zareza|kerusakan segmentasi|la instrucció no és permesa|"
        "lebegőpontos kivétel|liukulukupoikkeus|lỗi bus|lỗi phân đoạn|magistralės klaida|minnesegmentsfeil|"
        "miskomando|muistialueen ylitys|napaka segmentacije|napaka vodila|naruszenie ochrony pamięci|"
        "nedovolená instrukce (sigill|nedovoljen ukaz|neoprávněný přístup do paměti (sigsegv|"
        "nepropisna instrukcija|neprípustná inštrukcia|netaisyklinga instrukcija|ngoại lệ dấu chấm động|"
        "ongeldige instructie|otillåten instruktion|parçalama arızası|prekoračitev plavajoče vejice|"
        "sabirnička greška|segmentacijska greška|segmentatiefout|segmentavimo klaida|segmenteringsfel|"
        "segmentfejl|slankaus kablelio klaida|speicherzugriffsfehler|szegmentálási hiba|"
        "ulovlig instruksjon (sigill|ulovlig instruktion (sigill|"
        "undtagelsestilfælde ved flydende taloperation|ungültiger maschinenbefehl|"
        "unntakstilfelle ved flyttallsoperasjon|veri yolu hatası|violació de segment|violación de segmento|"
        "virheellinen käsky|väylävirhe|výjimka v pohyblivé řádové čárce (sigfpe|"
        "výnimka pohyblivej rádovej čiarky|yönerge kuraldışı|érvénytelen utasítás|ακατάλληλη εντολή|"
        "εξαίρεση κινητής υποδιαστολής|σφάλμα κατάτμησης (segmentation fault|σφάλμα στον δίαυλο(bus|"
        "выключэньне плыўной коскі|грешка на адресната шина|грешка сабирнице|збой сэгмэнтацыі|"
        "изключение при плаваща запетая|изузетак покретног зареза|исключение в операции с плавающей точкой|"
        "нарушение на разделянето(segfault|недапушчальнае прадпісаньне|недопустимая инструкция|"
        "незаконна инструкция|неисправна инструкција|неуспех сегментације|ошибка сегментирования|ошибка шины|"
        "памылка шыны|помилка адресування|помилка каналу обміну даними|помилка обчислень з рухомою комою|"
        "помилкова інструкція|バスエラー|匯流排錯誤|总线错误|浮動小数点例外|浮点数例外|浮點數例外|無效指令|程式記憶體區段錯誤|非法指令|명령어가 잘못됨|버스 오류|"
        "부동 소수점 예외|세그멘테이션 오류"
    ),
    "option": (
        "a kapcsoló egy argumentumot igényel|a opção requer um argumento|błędna opcja|"
        "diese option benötigt ein argument|flaget skal have et argument|flaggan kräver ett argument|"
        "geçersiz seçenek|izbira zahteva argument|không nhận ra tùy chọn|l'option requiert un argument|"
        "l'opzione richiede un argomento|la opción requiere un argumento|necessita un argument|"
        "nekonata opcio|neplatný přepínač –|neprepoznata opcija|nerozpoznaný přepínač|nevalida opcio|"
        "nevaljana opcija|neveljavna izbira|nieznana opcja|no és reconeguda|no és vàlida|ogiltig flagga|"
        "okänd flagga|onbekende optie|ongeldige optie|opcija zahtijeva argument|opcio bezonas argumenton|"
        "opción inválida|opcja musi mieć argument|optie vereist een argument|option invalide|"
        "option non reconnue|opzione non valida|opção inválida|opção não reconhecida|"
        "pilihan membutuhkan sebuah argumen|pilihan tidak valid|přepínač vyžaduje argument –|"
        "seçenek bir argümanla gerektirir|tanınmayan seçenek|tunnistamaton valitsin|tùy chọn cần một đối số|"
        "tùy chọn không hợp lệ|ugyldigt flag|unbekannte option|ungültige option|valitsin vaatii argumentin|"
        "virheellinen valitsin|érvénytelen kapcsoló|до параметра слід додати аргумент —|"
        "ключ должен использоваться с аргументом —|неверный ключ —|невідомий параметр|неисправна опција —|"
        "некоректний параметр —|непозната опција|неправилна опция|неразпозната опция|нераспознанный параметр|"
        "опцията изисква аргумент|опција захтева аргумент —|オプションには引数が必要です|不适用的选项|無効なオプション|选项需要一个参数|부적절한 옵션|"
        "이 옵션은 인수가 필요합니다|인식할 수 없는 옵션|：未识别的选项|：無效選項|：無法識別「|：選項需要參數"
    ),
    "no_command": (
        "bevel nie gevind nie|comando non trovato|comandă negăsită|commande introuvable|komanda nerasta|"
        "komentoa ei löydy|komut yok|käsku ei ole|naredba nije pronađena|níor aimsíodh an t-ordú|"
        "orden no encontrada|príkaz nenájdený|příkaz nenalezen|нема такве наредбе|コマンドが見つかりません|未找到命令|"
        "명령어를 찾을 수 없음|：指令找不到"
    ),
    "no_target": (
        "a dhéanamh, rud a theastaíonn|aucune règle pour fabriquer la cible|brak reguł do wykonania obiektu|"
        "brak reguł do zrobienia obiektu|er is geen regel om doel|ingen regel för att skapa målet|"
        "ingen regel til at skabe målet|keine regel vorhanden, um das ziel|keine regel, um|"
        "không có quy tắc để tạo đích|nema pravila za izradu cilja|nessuna regola per generare l'obiettivo|"
        "no hay ninguna regla para construir el objetivo|níl aon riail chun sprioc|"
        "sem regra para fazer o alvo|sem regra para processar o alvo|"
        "tidak terdapat aturan untuk membuat target|žádné pravidlo jak vyrobit cíl|"
        "нема правила для створення цілі|нема правила за одрађивање мете|нет правила для сборки цели|"
        "няма правило за изграждане на целта|を make するルールがありません|沒有規則可製作目標「|没有规则可制作目标|을(를) 만들 규칙이 없습니다|"
        "타겟을 만들 규칙이 없습니다"
    ),
    "no_repository": (
        "bir git deposu (veya üst dizinlerinden birisi) değil|"
        "bukan sebuah repositori git (atau direktori induk apapun|"
        "inte ett git-arkiv (eller någon av föräldrakatalogerna|"
        "kein git-repository (oder irgendeines der elternverzeichnisse|"
        "không phải là kho git (hoặc bất kỳ thư mục cha mẹ nào|"
        "ni ceci ni aucun de ses répertoires parents n'est un dépôt git|"
        "no es un repositorio git (ni ninguno de los directorios superiores|"
        "no és un repositori de git (ni cap dels directoris pares|"
        "non è un repository git (né lo è alcuna delle directory genitrici|"
        "to nie jest repozytorium gita (ani żaden z katalogów nadrzędnych|"
        "é repositório git nenhum (ou qualquer pasta parente|"
        "δεν είναι αποθετήριο git (ή κανένας από τους πιο πάνω φακέλους|"
        "не найден git репозиторий (или один из родительских каталогов|"
        "нито тази, нито която и да е от по-горните директории, не е хранилище на git|不是 git 仓库（或者任何父目录）：|"
        "不是一個 git 版本庫（或者任何父目錄）：|현재 폴더 또는 상위 폴더 중 일부가) 깃 저장소가 아닙니다"
    ),
    "no_package": (
        "ez a csomag nem található|finn ikkje pakken|hindi mahanap ang paketeng|"
        "impossibile trovare il pacchetto|impossible de trouver le paquet|impossível encontrar o pacote|"
        "kann nicht gefunden werden|không thể định vị gói|klarer ikke å finne pakken|"
        "kunde inte hitta paketet|kunne ikke lokalisere pakken|ne mogu pronaći paket|nedá sa nájsť balík|"
        "nelze najít balík|nepavyko rasti paketo|ni ellir lleoli'r pecyn|ni mogoče najti paketa|"
        "nie udało się odnaleźć pakietu|niet vinden|no s'ha trobat el paquet|"
        "no se ha podido localizar el paquete|non foi posíbel atopar o paquete|"
        "nu s-a putut localiza pachetul|nun pue alcontrase'l paquete|não foi possível encontrar o pacote|"
        "paketea lokalizatu|paketi bulunamadı|pakêt nehate dîtin|αδυναμία εντοπισμού του πακέτου|"
        "не може да бъде намерен|не можу знайти пакунок|невозможно найти пакет|تعذر العثور على الحزمة|"
        "ไม่พบแพกเกจ|找不到套件|无法定位软件包|패키지를 찾을 수 없습니다"
    ),
}

KINDS: Final = {
    "no_file": "dependency_missing/file",
    "disk": "resource_exhaustion/disk",
    "descriptors": "resource_exhaustion/file_descriptors",
    "memory": "resource_exhaustion/memory",
    "permission": "unknown/permission",
    "exists": "unknown/conflict",
    "network": "transient/network",
    "busy": "transient/lock",
    "crash": "code_error/crash",
    "option": "code_error/config",
    "no_command": "dependency_missing/command",
    "no_target": "dependency_missing/file",
    "no_repository": "unknown/config",
    "no_package": "dependency_missing/package",
}


def _rule(name: str, kind: str) -> Rule:
    sentences = SENTENCES[name].split("|")
    return rule(
        f"sentence.{name}",
        kind,
        *(re.escape(sentence).replace("\\ ", " ") for sentence in sentences),
        on=OTHER_SCRIPTS,
        hit=(sentences[0], f"tool: a.txt: {sentences[-1]}"),
        miss="tool: a.txt: all is well",
        level=EXACT + 0.5 if name == "no_repository" else EXACT,
        confidence=0.92,
    )


RULES: Final[tuple[Rule, ...]] = tuple(_rule(name, kind) for name, kind in KINDS.items())
