-- Rows as the version before 0009 wrote them: in the middle of a loop, triages, fixes, a review, a split and an incident.
INSERT INTO task (id, title, runner, command, cwd, env, description, spec, timeout_ms, memory_bytes, cpu_ms, priority, queue, tags, policy, resources, key, created_at, created_by, status, since, version, block_kind, reason, paused, cancel_requested, waits_for, unmet, due_at, ready, ready_at, hold, recovery, canary, forced, live, attempts, streak, charged, uncharged, uncharged_since, granted, asks_at, crashes, iteration, questions, guidance, last_category, last_fingerprint, last_summary, ended_at, checks, check_timeout_ms, fail_fast, threshold, cron, zone, every_ms, catch_up, max_iterations, loop, loop_place, max_failure_restarts, iterations_done, planned_at, restarts, endless, subject, role, depth, model, fresh_session, max_tokens, max_cost, wants_triage, triages, triaged_at) VALUES
('.triage-dr6m-1', 'Triage of fixed later', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["no-recurring-triage"]', '', '[]', NULL, 1800000012000, 'triage', 'completed', 1800000014000, 3, NULL, 'fix_filed: waits for its fix wfak', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000014000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'dr6m', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 'Triage of incident:transient:1dbe4b0e', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["no-recurring-triage"]', '', '[]', NULL, 1800000004000, 'triage', 'completed', 1800000006000, 3, NULL, 'fix_filed: xqe9 was filed; when it is done, one task goes ahead at once', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000006000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'c3hd', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-k3bq-1', 'Triage of second of the loop', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["recurring-triage","no-recurring-triage"]', '', '[]', NULL, 1800000048000, 'triage', 'in_progress', 1800000048000, 2, NULL, 'claimed for attempt 1', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, 1, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'k3bq', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-qyvu-1', 'Triage of unclear', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["no-recurring-triage"]', '', '[]', NULL, 1800000012000, 'triage', 'completed', 1800000014000, 3, NULL, 'spec_refresh_requested: waits for the review of its specification (jzj8)', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000014000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'qyvu', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-txxt-1', 'Triage of polls', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["recurring-triage","no-recurring-triage"]', '', '[]', NULL, 1800000075000, 'triage', 'completed', 1800000078000, 3, NULL, 'fix_filed: a5uh was filed; it keeps its backoff until then', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000078000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'txxt', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-vsph-1', 'Triage of thinking', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["no-recurring-triage"]', '', '[]', NULL, 1800000014000, 'triage', 'in_progress', 1800000014000, 2, NULL, 'claimed for attempt 1', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, 1, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'vsph', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('.triage-xjbq-1', 'Triage of too much', 'triage', '[]', '', '[]', '', '', 300000, NULL, NULL, 2, 'default', '["no-recurring-triage"]', '', '[]', NULL, 1800000014000, 'triage', 'completed', 1800000016000, 3, NULL, 'split: Split into sub-issues: h299, mfpr', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000016000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'xjbq', 'triage', 0, '', 0, NULL, NULL, 0, 0, NULL),
('a5uh', 'repair the feed', 'person', '[]', '', '[]', 'It was filed because txxt (polls) keeps failing.

Root cause: it is broken

Evidence:
unknown: Unknown failure: the feed in module two is odd', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000078000, '.triage-txxt-1', 'blocked', 1800000078000, 1, 'human', 'txxt waits for it, and no agent is configured for a fix', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 1, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'txxt', 'fix', 1, '', 0, NULL, NULL, 0, 0, NULL),
('adyk', 'third of the loop', 'shell', '"third of the loop"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'in_progress', 1800000099000, 3, NULL, 'claimed for attempt 1', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, 1, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', 5000, 'one', 6, 'zqvy', 2, 3, 0, 1800000099000, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('c3hd', 'load 2', 'shell', '"load 2"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000072000, 9, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000069922, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 2, 1, 0, 2, 1800000004000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",false],[3,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 2 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('dr6m', 'fixed later', 'shell', '"fixed later"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000014000, 10, NULL, 'waits for its fix wfak', 0, 0, NULL, 1, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 3, 3, 3, 0, NULL, 0, 0, 0, 1, 0, '[[2,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 1 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:2e73bea9",false],[3,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 2 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:2e73bea9",false]]', 'unknown', 'unknown:2e73bea9', 'Unknown failure: the ledger in module one is odd', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000012000),
('h299', 'parser', 'agent:fake', '[]', '', '[]', 'Only this is to be done now: part 1 of 2 of xjbq (too much).

The whole it is a part of:
do both', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000016000, '.triage-xjbq-1', 'completed', 1800000018000, 3, NULL, 'attempt 1 ended well', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000018000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'xjbq', 'part', 1, '', 0, NULL, NULL, 0, 0, NULL),
('jzj8', 'Review specification of unclear', 'person', '[]', '', '[]', 'What is unclear: what foo is

qyvu (unclear) failed 3 times in a row.

Evidence:
unknown: Unknown failure: the third thing broke

What was advised and did not help:
- Read the end of the log; nothing in it names a cause that is known here.
- Read the end of the log; nothing in it names a cause that is known here.', '- it works', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000014000, '.triage-qyvu-1', 'blocked', 1800000014000, 1, 'human', 'qyvu waits for it, and no agent is configured for a review', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 1, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'qyvu', 'review', 1, '', 0, NULL, NULL, 0, 0, NULL),
('k3bq', 'second of the loop', 'shell', '"second of the loop"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000099000, 14, NULL, 'attempt 4 ended well', 0, 0, 'turn', 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 4, 0, 0, 0, NULL, 0, 0, 0, 5, 0, '[[2,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 1 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:4a857e39",false],[3,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 2 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:4a857e39",false],[4,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 3 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here. (cured 0 of 1)","unknown:4a857e39",true]]', 'unknown', 'unknown:4a857e39', 'Unknown failure: the sixth thing broke', NULL, '[]', 300000, 0, 1.0, '', '', 5000, 'one', 6, 'zqvy', 1, 3, 1, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000048000),
('kzhu', 'load 3', 'shell', '"load 3"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000006000, 4, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000004965, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 1, 1, 0, 1, 1800000004000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('mfpr', 'printer', 'agent:fake', '[]', '', '[]', 'Only this is to be done now: part 2 of 2 of xjbq (too much).

The whole it is a part of:
do both', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000016000, '.triage-xjbq-1', 'in_progress', 1800000018000, 2, NULL, 'claimed for attempt 1', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, 1, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'xjbq', 'part', 1, '', 0, NULL, NULL, 0, 0, NULL),
('p2vc', 'waits for the ledger', 'shell', '"waits for the ledger"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'completed', 1800000004000, 2, NULL, 'attempt 1 ended well', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 1, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', 1800000004000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('qbxd', 'load 4', 'shell', '"load 4"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000006000, 4, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000004952, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 1, 1, 0, 1, 1800000004000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('qyvu', 'unclear', 'shell', '"unclear"', '', '[]', '', '- it works', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'blocked', 1800000014000, 10, 'spec', 'waits for the review of its specification (jzj8)', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 3, 3, 3, 0, NULL, 0, 0, 0, 1, 0, '[[2,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 1 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:2afe66c6",false],[3,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 2 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:2afe66c6",false]]', 'unknown', 'unknown:2afe66c6', 'Unknown failure: the third thing broke', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000012000),
('rtwa', 'load 0', 'shell', '"load 0"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000006000, 4, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000005030, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 1, 1, 0, 1, 1800000004000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('scew', 'load 5', 'shell', '"load 5"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000006000, 4, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000004971, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 1, 1, 0, 1, 1800000004000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('swww', 'comes after both', 'shell', '"comes after both"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000000000, 2, NULL, '', 0, 0, NULL, 1, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('txbb', 'load 1', 'shell', '"load 1"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000008000, 4, NULL, 'the retry is due', 0, 0, NULL, 0, NULL, 1, 1800000007005, 'incident:transient:1dbe4b0e', 1, 0, 0, NULL, 1, 1, 0, 1, 1800000006000, 0, 0, 0, 1, 0, '[[2,"Try again; if it lasts, check that the host is up and can be reached from here.","Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)\nAdvice: Try again; if it lasts, check that the host is up and can be reached from here.","transient:1dbe4b0e",null]]', 'transient/network', 'transient:1dbe4b0e', 'Network failure: connect to db.example port 5432 failed: Connection refused', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL),
('txxt', 'polls', 'shell', '"polls"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'failed', 1800000075000, 10, NULL, 'Unknown failure: the feed in module two is odd', 0, 0, NULL, 0, 1800000147942, 0, NULL, NULL, 1, 0, 0, NULL, 3, 3, 3, 0, NULL, 0, 0, 0, 4, 0, '[[2,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 1 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:9064047b",false],[3,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 2 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:9064047b",false],[4,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 3 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here. (cured 0 of 1)","unknown:9064047b",null]]', 'unknown', 'unknown:9064047b', 'Unknown failure: the feed in module two is odd', NULL, '[]', 300000, 0, 1.0, '', '', 10000, 'one', NULL, '', 0, 3, 0, 1800000070851, 0, 1, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000075000),
('vsph', 'thinking', 'shell', '"thinking"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'failed', 1800000014000, 9, NULL, 'Unknown failure: the fifth thing is a riddle', 0, 0, 'triage', 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 3, 3, 3, 0, NULL, 0, 0, 0, 1, 0, '[[2,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 1 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:809f390c",false],[3,"Read the end of the log; nothing in it names a cause that is known here.","Attempt 2 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)\nAdvice: Read the end of the log; nothing in it names a cause that is known here.","unknown:809f390c",false]]', 'unknown', 'unknown:809f390c', 'Unknown failure: the fifth thing is a riddle', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000014000),
('wfak', 'repair the ledger', 'person', '[]', '', '[]', 'It was filed because dr6m (fixed later) keeps failing.

Root cause: it is broken

Evidence:
unknown: Unknown failure: the ledger in module one is odd', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000014000, '.triage-dr6m-1', 'blocked', 1800000014000, 1, 'human', 'dr6m waits for it, and no agent is configured for a fix', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 1, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'dr6m', 'fix', 1, '', 0, NULL, NULL, 0, 0, NULL),
('xjbq', 'too much', 'agent:fake', '[]', '', '[]', '', 'do both', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'cancelled', 1800000016000, 10, NULL, 'Split into sub-issues: h299, mfpr', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 1, 0, 0, NULL, 3, 3, 3, 0, NULL, 0, 0, 0, 1, 0, '[[2,"Use less of what ran out, or provide more of it.","Attempt 1 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)\nAdvice: Use less of what ran out, or provide more of it.","resource_exhaustion:74eaa63f",false],[3,"Use less of what ran out, or provide more of it.","Attempt 2 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)\nAdvice: Use less of what ran out, or provide more of it.","resource_exhaustion:74eaa63f",false]]', 'resource_exhaustion', 'resource_exhaustion:74eaa63f', 'Out of resources: the fourth thing is too much', 1800000016000, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, '', '', 0, '', 0, NULL, NULL, 0, 1, 1800000014000),
('xqe9', 'restart the database', 'person', '[]', '', '[]', 'It was filed for incident:transient:1dbe4b0e: 5 tasks fail the same way: Network failure: connect to db.example port 5432 failed: Connection refused. c3hd (load 2) is one of them.

Root cause: it is down

Evidence:
transient/network: Network failure: connect to db.example port 5432 failed: Connection refused
connect to db.example port 5432 failed: Connection refused', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000006000, '.triage-incident-1dbe4b0e-1a3185c5fa0', 'blocked', 1800000006000, 1, 'human', 'c3hd waits for it, and no agent is configured for a fix', 0, 0, NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 1, 1, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', NULL, 'one', NULL, '', 0, 3, 0, NULL, 0, 0, 'c3hd', 'fix', 1, '', 0, NULL, NULL, 0, 0, NULL),
('zqvy', 'first of the loop', 'shell', '"first of the loop"', '', '[]', '', '', NULL, NULL, NULL, 2, 'default', '[]', '', '[]', NULL, 1800000000000, 'person:test', 'pending', 1800000096000, 15, NULL, 'attempt 4 ended well', 0, 0, 'turn', 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, 4, 0, 0, 0, NULL, 0, 0, 0, 5, 0, '[]', '', '', '', NULL, '[]', 300000, 0, 1.0, '', '', 5000, 'one', 6, 'zqvy', 0, 3, 4, NULL, 3, 0, '', '', 0, '', 0, NULL, NULL, 0, 0, NULL);
INSERT INTO task_tag (tag, task_id) VALUES
('no-recurring-triage', '.triage-dr6m-1'),
('no-recurring-triage', '.triage-incident-1dbe4b0e-1a3185c5fa0'),
('no-recurring-triage', '.triage-k3bq-1'),
('no-recurring-triage', '.triage-qyvu-1'),
('no-recurring-triage', '.triage-txxt-1'),
('no-recurring-triage', '.triage-vsph-1'),
('no-recurring-triage', '.triage-xjbq-1'),
('recurring-triage', '.triage-k3bq-1'),
('recurring-triage', '.triage-txxt-1');
INSERT INTO dependency (task_id, after_id) VALUES
('dr6m', 'wfak'),
('mfpr', 'h299'),
('swww', 'h299'),
('swww', 'mfpr');
INSERT INTO worker (id, host, machine_id, boot_id, pid, pid_start, slots, queues, started_at, beat_at, lease_until, policy_hash, stopped_at, how) VALUES
('w-yr2cyvsxnu', 'here', 'machine', 'boot', 100, 1, 8, '["default"]', 1800000000000, 1800000099000, 1800000129000, 'db33a5e7b6dd', NULL, '');
INSERT INTO attempt (task_id, number, worker_id, host, iteration, started_at, canary, forced, pid, pid_start, log_path, ended_at, outcome, exit_code, signal, charged, diagnosis, guidance, policy_hash, planned_at, tokens, cost, failure) VALUES
('.triage-dr6m-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000012000, 0, 0, NULL, NULL, '/srv/medbay/logs/.triage-dr6m-1/1.log', 1800000014000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/.triage-incident-1dbe4b0e-1a3185c5fa0/1.log', 1800000006000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-k3bq-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000048000, 0, 0, 4242, 1, '/srv/medbay/logs/.triage-k3bq-1/1.log', NULL, NULL, NULL, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-qyvu-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000012000, 0, 0, NULL, NULL, '/srv/medbay/logs/.triage-qyvu-1/1.log', 1800000014000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-txxt-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000075000, 0, 0, NULL, NULL, '/srv/medbay/logs/.triage-txxt-1/1.log', 1800000078000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-vsph-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000014000, 0, 0, 4242, 1, '/srv/medbay/logs/.triage-vsph-1/1.log', NULL, NULL, NULL, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('.triage-xjbq-1', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000014000, 0, 0, NULL, NULL, '/srv/medbay/logs/.triage-xjbq-1/1.log', 1800000016000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('adyk', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000099000, 0, 0, NULL, NULL, '/srv/medbay/logs/adyk/1.log', NULL, NULL, NULL, NULL, 0, NULL, '', '', 1800000099000, NULL, NULL, NULL),
('c3hd', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/c3hd/1.log', 1800000004000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('c3hd', 2, 'w-yr2cyvsxnu', 'here', 1, 1800000066000, 1, 0, NULL, NULL, '/srv/medbay/logs/c3hd/2.log', 1800000069000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('dr6m', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/dr6m/1.log', 1800000004000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2e73bea9","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the ledger in module one is odd"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('dr6m', 2, 'w-yr2cyvsxnu', 'here', 1, 1800000006000, 0, 0, NULL, NULL, '/srv/medbay/logs/dr6m/2.log', 1800000008000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2e73bea9","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the ledger in module one is odd"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('dr6m', 3, 'w-yr2cyvsxnu', 'here', 1, 1800000010000, 0, 0, NULL, NULL, '/srv/medbay/logs/dr6m/3.log', 1800000012000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2e73bea9","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the ledger in module one is odd"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('h299', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000016000, 0, 0, NULL, NULL, '/srv/medbay/logs/h299/1.log', 1800000018000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('k3bq', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000006000, 0, 0, NULL, NULL, '/srv/medbay/logs/k3bq/1.log', 1800000008000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:4a857e39","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the sixth thing broke"}', '', 'db33a5e7b6dd', 1800000006000, NULL, NULL, NULL),
('k3bq', 2, 'w-yr2cyvsxnu', 'here', 2, 1800000022000, 0, 0, NULL, NULL, '/srv/medbay/logs/k3bq/2.log', 1800000024000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:4a857e39","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the sixth thing broke"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', 1800000022000, NULL, NULL, NULL),
('k3bq', 3, 'w-yr2cyvsxnu', 'here', 3, 1800000046000, 0, 0, NULL, NULL, '/srv/medbay/logs/k3bq/3.log', 1800000048000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:4a857e39","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the sixth thing broke"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', 1800000046000, NULL, NULL, NULL),
('k3bq', 4, 'w-yr2cyvsxnu', 'here', 4, 1800000096000, 0, 0, NULL, NULL, '/srv/medbay/logs/k3bq/4.log', 1800000099000, 'succeeded', 0, NULL, 0, NULL, 'Retry Guidance (Attempt #4)
Attempt 3 failed: Unknown failure: the sixth thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here. (cured 0 of 1)
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.
- before attempt 3: Read the end of the log; nothing in it names a cause that is known here.', '', 1800000096000, NULL, NULL, NULL),
('kzhu', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/kzhu/1.log', 1800000004000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('mfpr', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000018000, 0, 0, 4242, 1, '/srv/medbay/logs/mfpr/1.log', NULL, NULL, NULL, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('p2vc', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/p2vc/1.log', 1800000004000, 'succeeded', 0, NULL, 0, NULL, '', '', NULL, NULL, NULL, NULL),
('qbxd', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/qbxd/1.log', 1800000004000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('qyvu', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/qyvu/1.log', 1800000004000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2afe66c6","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the third thing broke"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('qyvu', 2, 'w-yr2cyvsxnu', 'here', 1, 1800000006000, 0, 0, NULL, NULL, '/srv/medbay/logs/qyvu/2.log', 1800000008000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2afe66c6","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the third thing broke"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('qyvu', 3, 'w-yr2cyvsxnu', 'here', 1, 1800000010000, 0, 0, NULL, NULL, '/srv/medbay/logs/qyvu/3.log', 1800000012000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:2afe66c6","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the third thing broke"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('rtwa', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/rtwa/1.log', 1800000004000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('scew', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000002000, 0, 0, NULL, NULL, '/srv/medbay/logs/scew/1.log', 1800000004000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('txbb', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/txbb/1.log', 1800000006000, 'failed', 1, NULL, 0, '{"category":"transient","charge":false,"confidence":0.95,"fingerprint":"transient:1dbe4b0e","location":null,"pattern":{"excerpt":"connect to db.example port 5432 failed: Connection refused","rule":"net.refused"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"resume","subcategory":"network","suggested_fix":"Try again; if it lasts, check that the host is up and can be reached from here.","summary":"Network failure: connect to db.example port 5432 failed: Connection refused"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('txxt', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/txxt/1.log', 1800000006000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:9064047b","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the feed in module two is odd"}', '', 'db33a5e7b6dd', 1800000000000, NULL, NULL, NULL),
('txxt', 2, 'w-yr2cyvsxnu', 'here', 2, 1800000028000, 0, 0, NULL, NULL, '/srv/medbay/logs/txxt/2.log', 1800000030000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:9064047b","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the feed in module two is odd"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', 1800000027498, NULL, NULL, NULL),
('txxt', 3, 'w-yr2cyvsxnu', 'here', 3, 1800000072000, 0, 0, NULL, NULL, '/srv/medbay/logs/txxt/3.log', 1800000075000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:9064047b","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the feed in module two is odd"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', 1800000070851, NULL, NULL, NULL),
('vsph', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/vsph/1.log', 1800000006000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:809f390c","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the fifth thing is a riddle"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('vsph', 2, 'w-yr2cyvsxnu', 'here', 1, 1800000008000, 0, 0, NULL, NULL, '/srv/medbay/logs/vsph/2.log', 1800000010000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:809f390c","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the fifth thing is a riddle"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('vsph', 3, 'w-yr2cyvsxnu', 'here', 1, 1800000012000, 0, 0, NULL, NULL, '/srv/medbay/logs/vsph/3.log', 1800000014000, 'failed', 1, NULL, 1, '{"category":"unknown","charge":true,"confidence":0.7,"fingerprint":"unknown:809f390c","location":null,"pattern":{"excerpt":"","rule":"none"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":null,"subcategory":null,"suggested_fix":"Read the end of the log; nothing in it names a cause that is known here.","summary":"Unknown failure: the fifth thing is a riddle"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.
Already advised:
- before attempt 2: Read the end of the log; nothing in it names a cause that is known here.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('xjbq', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/xjbq/1.log', 1800000006000, 'failed', 1, NULL, 1, '{"category":"resource_exhaustion","charge":true,"confidence":0.65,"fingerprint":"resource_exhaustion:74eaa63f","location":null,"pattern":{"excerpt":"the fourth thing is too much","rule":"gist.resource"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"fresh","subcategory":null,"suggested_fix":"Use less of what ran out, or provide more of it.","summary":"Out of resources: the fourth thing is too much"}', '', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('xjbq', 2, 'w-yr2cyvsxnu', 'here', 1, 1800000008000, 0, 0, NULL, NULL, '/srv/medbay/logs/xjbq/2.log', 1800000010000, 'failed', 1, NULL, 1, '{"category":"resource_exhaustion","charge":true,"confidence":0.65,"fingerprint":"resource_exhaustion:74eaa63f","location":null,"pattern":{"excerpt":"the fourth thing is too much","rule":"gist.resource"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"fresh","subcategory":null,"suggested_fix":"Use less of what ran out, or provide more of it.","summary":"Out of resources: the fourth thing is too much"}', 'Retry Guidance (Attempt #2)
Attempt 1 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)
Advice: Use less of what ran out, or provide more of it.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('xjbq', 3, 'w-yr2cyvsxnu', 'here', 1, 1800000012000, 0, 0, NULL, NULL, '/srv/medbay/logs/xjbq/3.log', 1800000014000, 'failed', 1, NULL, 1, '{"category":"resource_exhaustion","charge":true,"confidence":0.65,"fingerprint":"resource_exhaustion:74eaa63f","location":null,"pattern":{"excerpt":"the fourth thing is too much","rule":"gist.resource"},"provider":null,"retry_after_ms":null,"retryable":true,"runners_up":[],"session":"fresh","subcategory":null,"suggested_fix":"Use less of what ran out, or provide more of it.","summary":"Out of resources: the fourth thing is too much"}', 'Retry Guidance (Attempt #3)
Attempt 2 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)
Advice: Use less of what ran out, or provide more of it.
Already advised:
- before attempt 2: Use less of what ran out, or provide more of it.', 'db33a5e7b6dd', NULL, NULL, NULL, NULL),
('zqvy', 1, 'w-yr2cyvsxnu', 'here', 1, 1800000004000, 0, 0, NULL, NULL, '/srv/medbay/logs/zqvy/1.log', 1800000006000, 'succeeded', 0, NULL, 0, NULL, '', '', 1800000000000, NULL, NULL, NULL),
('zqvy', 2, 'w-yr2cyvsxnu', 'here', 2, 1800000020000, 0, 0, NULL, NULL, '/srv/medbay/logs/zqvy/2.log', 1800000022000, 'succeeded', 0, NULL, 0, NULL, '', '', 1800000018357, NULL, NULL, NULL),
('zqvy', 3, 'w-yr2cyvsxnu', 'here', 3, 1800000044000, 0, 0, NULL, NULL, '/srv/medbay/logs/zqvy/3.log', 1800000046000, 'succeeded', 0, NULL, 0, NULL, '', '', 1800000043487, NULL, NULL, NULL),
('zqvy', 4, 'w-yr2cyvsxnu', 'here', 4, 1800000093000, 0, 0, NULL, NULL, '/srv/medbay/logs/zqvy/4.log', 1800000096000, 'succeeded', 0, NULL, 0, NULL, '', '', 1800000090349, NULL, NULL, NULL);
INSERT INTO attempt_output (task_id, number, head, tail, total_bytes, result) VALUES
('.triage-dr6m-1', 1, '', '', 0, '{"answer":"{\"verdict\": \"FILE_FIX\", \"fix\": {\"title\": \"repair the ledger\"}, \"root_cause\": \"it is broken\"}"}'),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 1, '', '', 0, '{"answer":"{\"verdict\": \"FILE_FIX\", \"fix\": {\"title\": \"restart the database\"}, \"root_cause\": \"it is down\"}"}'),
('.triage-qyvu-1', 1, '', '', 0, '{"answer":"{\"verdict\": \"SPEC_REFRESH\", \"unclear\": \"what foo is\"}"}'),
('.triage-txxt-1', 1, '', '', 0, '{"answer":"{\"verdict\": \"FILE_FIX\", \"fix\": {\"title\": \"repair the feed\"}, \"root_cause\": \"it is broken\"}"}'),
('.triage-xjbq-1', 1, '', '', 0, '{"answer":"{\"verdict\": \"SPLIT\", \"parts\": [{\"title\": \"parser\"}, {\"title\": \"printer\"}]}"}'),
('c3hd', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('c3hd', 2, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('dr6m', 1, '', 'the ledger in module one is odd', 31, NULL),
('dr6m', 2, '', 'the ledger in module one is odd', 31, NULL),
('dr6m', 3, '', 'the ledger in module one is odd', 31, NULL),
('k3bq', 1, '', 'the sixth thing broke', 21, NULL),
('k3bq', 2, '', 'the sixth thing broke', 21, NULL),
('k3bq', 3, '', 'the sixth thing broke', 21, NULL),
('kzhu', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('qbxd', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('qyvu', 1, '', 'the third thing broke', 21, NULL),
('qyvu', 2, '', 'the third thing broke', 21, NULL),
('qyvu', 3, '', 'the third thing broke', 21, NULL),
('rtwa', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('scew', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('txbb', 1, '', 'connect to db.example port 5432 failed: Connection refused', 58, NULL),
('txxt', 1, '', 'the feed in module two is odd', 29, NULL),
('txxt', 2, '', 'the feed in module two is odd', 29, NULL),
('txxt', 3, '', 'the feed in module two is odd', 29, NULL),
('vsph', 1, '', 'the fifth thing is a riddle', 27, NULL),
('vsph', 2, '', 'the fifth thing is a riddle', 27, NULL),
('vsph', 3, '', 'the fifth thing is a riddle', 27, NULL),
('xjbq', 1, '', 'the fourth thing is too much', 28, NULL),
('xjbq', 2, '', 'the fourth thing is too much', 28, NULL),
('xjbq', 3, '', 'the fourth thing is too much', 28, NULL);
INSERT INTO retry (task_id, attempt, category, action, scheduled_at, due_at, delay_ms, error, guidance, status, executed_at, outcome, policy_hash, learned) VALUES
('c3hd', 1, 'transient/network', 'retry_with_guidance', 1800000004000, 1800000004965, 965, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000006000, 'failed', 'db33a5e7b6dd', ''),
('c3hd', 2, 'transient/network', 'retry_with_guidance', 1800000069000, 1800000069922, 922, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 2 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000072000, NULL, 'db33a5e7b6dd', ''),
('dr6m', 1, 'unknown', 'retry_with_guidance', 1800000004000, 1800000005069, 1069, 'Unknown failure: the ledger in module one is odd', 'Attempt 1 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000006000, 'failed', 'db33a5e7b6dd', ''),
('dr6m', 2, 'unknown', 'retry_with_guidance', 1800000008000, 1800000009024, 1024, 'Unknown failure: the ledger in module one is odd', 'Attempt 2 failed: Unknown failure: the ledger in module one is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000010000, 'failed', 'db33a5e7b6dd', ''),
('kzhu', 1, 'transient/network', 'retry_with_guidance', 1800000004000, 1800000004965, 965, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000006000, NULL, 'db33a5e7b6dd', ''),
('qbxd', 1, 'transient/network', 'retry_with_guidance', 1800000004000, 1800000004952, 952, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000006000, NULL, 'db33a5e7b6dd', ''),
('qyvu', 1, 'unknown', 'retry_with_guidance', 1800000004000, 1800000004904, 904, 'Unknown failure: the third thing broke', 'Attempt 1 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000006000, 'failed', 'db33a5e7b6dd', ''),
('qyvu', 2, 'unknown', 'retry_with_guidance', 1800000008000, 1800000009097, 1097, 'Unknown failure: the third thing broke', 'Attempt 2 failed: Unknown failure: the third thing broke (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000010000, 'failed', 'db33a5e7b6dd', ''),
('rtwa', 1, 'transient/network', 'retry_with_guidance', 1800000004000, 1800000005030, 1030, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000006000, NULL, 'db33a5e7b6dd', ''),
('scew', 1, 'transient/network', 'retry_with_guidance', 1800000004000, 1800000004971, 971, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000006000, NULL, 'db33a5e7b6dd', ''),
('txbb', 1, 'transient/network', 'retry_with_guidance', 1800000006000, 1800000007005, 1005, 'Network failure: connect to db.example port 5432 failed: Connection refused', 'Attempt 1 failed: Network failure: connect to db.example port 5432 failed: Connection refused (transient/network, confidence 0.95)
Advice: Try again; if it lasts, check that the host is up and can be reached from here.', 'executed', 1800000008000, NULL, 'db33a5e7b6dd', ''),
('txxt', 1, 'unknown', 'retry_with_guidance', 1800000006000, 1800000027498, 21498, 'Unknown failure: the feed in module two is odd', 'Attempt 1 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000028000, 'failed', 'db33a5e7b6dd', ''),
('txxt', 2, 'unknown', 'retry_with_guidance', 1800000030000, 1800000070851, 40851, 'Unknown failure: the feed in module two is odd', 'Attempt 2 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000072000, 'failed', 'db33a5e7b6dd', ''),
('txxt', 3, 'unknown', 'retry_with_guidance', 1800000075000, 1800000147942, 72942, 'Unknown failure: the feed in module two is odd', 'Attempt 3 failed: Unknown failure: the feed in module two is odd (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here. (cured 0 of 1)', 'pending', NULL, NULL, 'db33a5e7b6dd', ''),
('vsph', 1, 'unknown', 'retry_with_guidance', 1800000006000, 1800000006900, 900, 'Unknown failure: the fifth thing is a riddle', 'Attempt 1 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000008000, 'failed', 'db33a5e7b6dd', ''),
('vsph', 2, 'unknown', 'retry_with_guidance', 1800000010000, 1800000011044, 1044, 'Unknown failure: the fifth thing is a riddle', 'Attempt 2 failed: Unknown failure: the fifth thing is a riddle (unknown, confidence 0.70)
Advice: Read the end of the log; nothing in it names a cause that is known here.', 'executed', 1800000012000, 'failed', 'db33a5e7b6dd', ''),
('xjbq', 1, 'resource_exhaustion', 'retry_with_guidance', 1800000006000, 1800000007057, 1057, 'Out of resources: the fourth thing is too much', 'Attempt 1 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)
Advice: Use less of what ran out, or provide more of it.', 'executed', 1800000008000, 'failed', 'db33a5e7b6dd', ''),
('xjbq', 2, 'resource_exhaustion', 'retry_with_guidance', 1800000010000, 1800000010931, 931, 'Out of resources: the fourth thing is too much', 'Attempt 2 failed: Out of resources: the fourth thing is too much (resource_exhaustion, confidence 0.65)
Advice: Use less of what ran out, or provide more of it.', 'executed', 1800000012000, 'failed', 'db33a5e7b6dd', '');
INSERT INTO history (task_id, source, target, actor, reason, context, at) VALUES
('c3hd', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('dr6m', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('kzhu', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('p2vc', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('qbxd', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('qyvu', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('rtwa', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('scew', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000002000),
('c3hd', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000004000),
('dr6m', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the ledger in module one is odd', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000004000),
('kzhu', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000004000),
('p2vc', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'attempt 1 ended well', '{"attempt":1}', 1800000004000),
('qbxd', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000004000),
('qyvu', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the third thing broke', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000004000),
('rtwa', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000004000),
('scew', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000004000),
('txbb', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('vsph', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('xjbq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('zqvy', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('txxt', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000004000),
('xqe9', 'pending', 'blocked', '.triage-incident-1dbe4b0e-1a3185c5fa0', 'c3hd waits for it, and no agent is configured for a fix', '{"kind":"human"}', 1800000006000),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'fix_filed: xqe9 was filed; when it is done, one task goes ahead at once', '{}', 1800000006000),
('txbb', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"transient/network"}', 1800000006000),
('txxt', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the feed in module two is odd', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000006000),
('vsph', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the fifth thing is a riddle', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000006000),
('xjbq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Out of resources: the fourth thing is too much', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"resource_exhaustion"}', 1800000006000),
('zqvy', 'in_progress', 'pending', 'worker:w-yr2cyvsxnu', 'attempt 1 ended well', '{"attempt":1}', 1800000006000),
('qyvu', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('qbxd', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('c3hd', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('kzhu', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('scew', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('rtwa', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('dr6m', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000006000),
('qyvu', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000006000),
('dr6m', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000006000),
('k3bq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000006000),
('dr6m', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the ledger in module one is odd', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000008000),
('k3bq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the sixth thing broke', '{"attempt":1,"before":{"charged":0,"streak":0,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000008000),
('k3bq', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the round begins again at zqvy', '{}', 1800000008000),
('qyvu', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the third thing broke', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000008000),
('vsph', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000008000),
('txbb', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000008000),
('xjbq', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000008000),
('vsph', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000008000),
('xjbq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000008000),
('vsph', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the fifth thing is a riddle', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000010000),
('xjbq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Out of resources: the fourth thing is too much', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"resource_exhaustion"}', 1800000010000),
('dr6m', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000010000),
('qyvu', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000010000),
('dr6m', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000010000),
('qyvu', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000010000),
('dr6m', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the ledger in module one is odd', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000012000),
('qyvu', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the third thing broke', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000012000),
('xjbq', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000012000),
('vsph', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000012000),
('xjbq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000012000),
('vsph', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000012000),
('.triage-dr6m-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000012000),
('.triage-qyvu-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000012000),
('wfak', 'pending', 'blocked', '.triage-dr6m-1', 'dr6m waits for it, and no agent is configured for a fix', '{"kind":"human"}', 1800000014000),
('.triage-dr6m-1', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'fix_filed: waits for its fix wfak', '{}', 1800000014000),
('dr6m', 'failed', 'pending', 'triage', 'waits for its fix wfak', '{"attempt":3}', 1800000014000),
('jzj8', 'pending', 'blocked', '.triage-qyvu-1', 'qyvu waits for it, and no agent is configured for a review', '{"kind":"human"}', 1800000014000),
('.triage-qyvu-1', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'spec_refresh_requested: waits for the review of its specification (jzj8)', '{}', 1800000014000),
('qyvu', 'failed', 'blocked', 'triage', 'waits for the review of its specification (jzj8)', '{"kind":"spec"}', 1800000014000),
('vsph', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the fifth thing is a riddle', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000014000),
('xjbq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Out of resources: the fourth thing is too much', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"resource_exhaustion"}', 1800000014000),
('.triage-vsph-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000014000),
('.triage-xjbq-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000014000),
('.triage-xjbq-1', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'split: Split into sub-issues: h299, mfpr', '{}', 1800000016000),
('xjbq', 'failed', 'cancelled', 'triage', 'Split into sub-issues: h299, mfpr', '{"attempt":3,"split_into":["h299","mfpr"]}', 1800000016000),
('h299', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000016000),
('h299', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'attempt 1 ended well', '{"attempt":1}', 1800000018000),
('mfpr', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000018000),
('zqvy', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000020000),
('zqvy', 'in_progress', 'pending', 'worker:w-yr2cyvsxnu', 'attempt 2 ended well', '{"attempt":2}', 1800000022000),
('k3bq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000022000),
('k3bq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the sixth thing broke', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000024000),
('k3bq', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the round begins again at zqvy', '{}', 1800000024000),
('txxt', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000028000),
('txxt', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000028000),
('txxt', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the feed in module two is odd', '{"attempt":2,"before":{"charged":1,"streak":1,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000030000),
('zqvy', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000044000),
('zqvy', 'in_progress', 'pending', 'worker:w-yr2cyvsxnu', 'attempt 3 ended well', '{"attempt":3}', 1800000046000),
('k3bq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000046000),
('k3bq', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the sixth thing broke', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000048000),
('k3bq', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the round begins again at zqvy', '{}', 1800000048000),
('.triage-k3bq-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000048000),
('c3hd', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 2', '{"attempt":2}', 1800000066000),
('c3hd', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Network failure: connect to db.example port 5432 failed: Connection refused', '{"attempt":2,"before":{"charged":0,"streak":1,"uncharged":1,"uncharged_since":1800000004000},"category":"transient/network"}', 1800000069000),
('c3hd', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000072000),
('txxt', 'failed', 'pending', 'worker:w-yr2cyvsxnu', 'the retry is due', '{}', 1800000072000),
('txxt', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 3', '{"attempt":3}', 1800000072000),
('txxt', 'in_progress', 'failed', 'worker:w-yr2cyvsxnu', 'Unknown failure: the feed in module two is odd', '{"attempt":3,"before":{"charged":2,"streak":2,"uncharged":0,"uncharged_since":null},"category":"unknown"}', 1800000075000),
('.triage-txxt-1', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000075000),
('a5uh', 'pending', 'blocked', '.triage-txxt-1', 'txxt waits for it, and no agent is configured for a fix', '{"kind":"human"}', 1800000078000),
('.triage-txxt-1', 'in_progress', 'completed', 'worker:w-yr2cyvsxnu', 'fix_filed: a5uh was filed; it keeps its backoff until then', '{}', 1800000078000),
('zqvy', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 4', '{"attempt":4}', 1800000093000),
('zqvy', 'in_progress', 'pending', 'worker:w-yr2cyvsxnu', 'attempt 4 ended well', '{"attempt":4}', 1800000096000),
('k3bq', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 4', '{"attempt":4}', 1800000096000),
('k3bq', 'in_progress', 'pending', 'worker:w-yr2cyvsxnu', 'attempt 4 ended well', '{"attempt":4}', 1800000099000),
('adyk', 'pending', 'in_progress', 'worker:w-yr2cyvsxnu', 'claimed for attempt 1', '{"attempt":1}', 1800000099000);
INSERT INTO question (id, need, why, evidence, options, default_option, scope, status, asked_at, answered_at, answered_by, answer, send_at, sent) VALUES
('q-1dbe4b0e-6b49d204', '5 tasks fail the same way: Network failure: connect to db.example port 5432 failed: Connection refused. Try again; if it lasts, check that the host is up and can be reached from here.', 'transient/network on c3hd, kzhu, qbxd, rtwa, scew; they hold until one of them gets through', 'connect to db.example port 5432 failed: Connection refused', '[["fixed, try one task now","retry","sends one task ahead; when it lives, the rest follow"],["keep waiting","wait","Medbay goes on sending one task ahead from time to time"]]', 1, NULL, 'open', 1800000004000, NULL, '', '', 1800014404000, 1),
('q-a5uh-1', 'repair the feed', 'txxt waits for it, and no agent is configured for a fix', 'It was filed because txxt (polls) keeps failing.

Root cause: it is broken

Evidence:
unknown: Unknown failure: the feed in module two is odd', '[["done","done","completes the fix, and txxt goes on"],["leave it for later","pause","out of the way, paused, until somebody resumes it"],["cancel the task","cancel","ends it for good; what comes after it is blocked"]]', 1, NULL, 'open', 1800000078000, NULL, '', '', 1800014478000, 1),
('q-jzj8-1', 'Review specification of unclear', 'qyvu waits for it, and no agent is configured for a review', 'What is unclear: what foo is

qyvu (unclear) failed 3 times in a row.

Evidence:
unknown: Unknown failure: the third thing broke

What was advised and did not help:
- Read the end of the log; nothing in it names a cause that is known here.
- Read the end of the log; nothing in it names a cause that is known here.', '[["done","done","completes the review, and qyvu goes on: with the specification in --note, without one as it is"],["leave it for later","pause","out of the way, paused, until somebody resumes it"],["cancel the task","cancel","ends it for good; what comes after it is blocked"]]', 1, NULL, 'open', 1800000014000, NULL, '', '', 1800014414000, 1),
('q-wfak-1', 'repair the ledger', 'dr6m waits for it, and no agent is configured for a fix', 'It was filed because dr6m (fixed later) keeps failing.

Root cause: it is broken

Evidence:
unknown: Unknown failure: the ledger in module one is odd', '[["done","done","completes the fix, and dr6m goes on"],["leave it for later","pause","out of the way, paused, until somebody resumes it"],["cancel the task","cancel","ends it for good; what comes after it is blocked"]]', 1, NULL, 'open', 1800000014000, NULL, '', '', 1800014414000, 1),
('q-xqe9-1', 'restart the database', 'c3hd waits for it, and no agent is configured for a fix', 'It was filed for incident:transient:1dbe4b0e: 5 tasks fail the same way: Network failure: connect to db.example port 5432 failed: Connection refused. c3hd (load 2) is one of them.

Root cause: it is down

Evidence:
transient/network: Network failure: connect to db.example port 5432 failed: Connection refused
connect to db.example port 5432 failed: Connection refused', '[["done","done","completes the fix, and c3hd goes on"],["leave it for later","pause","out of the way, paused, until somebody resumes it"],["cancel the task","cancel","ends it for good; what comes after it is blocked"]]', 1, NULL, 'open', 1800000006000, NULL, '', '', 1800014406000, 1);
INSERT INTO question_task (question_id, task_id, waiting) VALUES
('q-a5uh-1', 'a5uh', 1),
('q-jzj8-1', 'jzj8', 1),
('q-wfak-1', 'wfak', 1),
('q-xqe9-1', 'xqe9', 1);
INSERT INTO triage (id, task_id, number, fingerprint, agent, started_at, since_seq, ended_at, action, detail, verdict, diff) VALUES
('.triage-dr6m-1', 'dr6m', 3, 'unknown:2e73bea9', 'command', 1800000012000, 118, 1800000014000, 'fix_filed', 'waits for its fix wfak', '{"fixes":[{"description":"","title":"repair the ledger"}],"root_cause":"it is broken","word":"FILE_FIX"}', NULL),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 'c3hd', 1, 'transient:1dbe4b0e', 'command', 1800000004000, 53, 1800000006000, 'fix_filed', 'xqe9 was filed; when it is done, one task goes ahead at once', '{"fixes":[{"description":"","title":"restart the database"}],"root_cause":"it is down","word":"FILE_FIX"}', NULL),
('.triage-k3bq-1', 'k3bq', 3, 'unknown:4a857e39', 'command', 1800000048000, 175, NULL, '', '', NULL, NULL),
('.triage-qyvu-1', 'qyvu', 3, 'unknown:2afe66c6', 'command', 1800000012000, 120, 1800000014000, 'spec_refresh_requested', 'waits for the review of its specification (jzj8)', '{"unclear":"what foo is","word":"SPEC_REFRESH"}', NULL),
('.triage-txxt-1', 'txxt', 3, 'unknown:9064047b', 'command', 1800000075000, 191, 1800000078000, 'fix_filed', 'a5uh was filed; it keeps its backoff until then', '{"fixes":[{"description":"","title":"repair the feed"}],"root_cause":"it is broken","word":"FILE_FIX"}', NULL),
('.triage-vsph-1', 'vsph', 3, 'unknown:809f390c', 'command', 1800000014000, 144, NULL, '', '', NULL, NULL),
('.triage-xjbq-1', 'xjbq', 3, 'resource_exhaustion:74eaa63f', 'command', 1800000014000, 146, 1800000016000, 'split', 'Split into sub-issues: h299, mfpr', '{"parts":[{"description":"","title":"parser"},{"description":"","title":"printer"}],"word":"SPLIT"}', NULL);
INSERT INTO budget_day (day, reserved_tokens, reserved_cost, used_tokens, used_cost) VALUES
('2027-01-15', 0, 0, 0, 0);
INSERT INTO reservation (task_id, number, day, tokens, cost, settled) VALUES
('.triage-dr6m-1', 1, '2027-01-15', 0, 0, 1),
('.triage-incident-1dbe4b0e-1a3185c5fa0', 1, '2027-01-15', 0, 0, 1),
('.triage-k3bq-1', 1, '2027-01-15', 0, 0, 0),
('.triage-qyvu-1', 1, '2027-01-15', 0, 0, 1),
('.triage-txxt-1', 1, '2027-01-15', 0, 0, 1),
('.triage-vsph-1', 1, '2027-01-15', 0, 0, 0),
('.triage-xjbq-1', 1, '2027-01-15', 0, 0, 1),
('h299', 1, '2027-01-15', 0, 0, 1),
('mfpr', 1, '2027-01-15', 0, 0, 0),
('xjbq', 1, '2027-01-15', 0, 0, 1),
('xjbq', 2, '2027-01-15', 0, 0, 1),
('xjbq', 3, '2027-01-15', 0, 0, 1);
INSERT INTO breaker (key, kind, state, why, opened_by, opened_at, until, probe_at, failures, successes, canary_task, canary_number, data, closed_at, question_id, version) VALUES
('incident:transient:1dbe4b0e', 'incident', 'open', '5 tasks fail the same way: Network failure: connect to db.example port 5432 failed: Connection refused', 'engine', 1800000004000, NULL, 1800000192397, 1, 0, NULL, NULL, '{"category":"transient/network","excerpt":"connect to db.example port 5432 failed: Connection refused","fingerprints":["transient:1dbe4b0e"],"fix":"xqe9","named":null,"probed_at":1800000069000,"tasks":["c3hd","kzhu","qbxd","rtwa","scew"],"triage":".triage-incident-1dbe4b0e-1a3185c5fa0","triage_why":""}', NULL, 'q-1dbe4b0e-6b49d204', 6);
INSERT INTO command_resource (command, resource, seen_at) VALUES
('2abc20b159d10fc41b1283c7', 'incident:transient:1dbe4b0e', 1800000006000),
('344c97bdb3d981907567254c', 'incident:transient:1dbe4b0e', 1800000069000),
('50e991c74c9ae17c88da943a', 'incident:transient:1dbe4b0e', 1800000004000),
('7ad9bdc252d86d5f4431bcd8', 'incident:transient:1dbe4b0e', 1800000004000),
('7e2131fc4033dd995b558599', 'incident:transient:1dbe4b0e', 1800000004000),
('e1457e5c56bc2c44c903e284', 'incident:transient:1dbe4b0e', 1800000004000);
INSERT INTO failure_pattern (fingerprint, category, subcategory, summary, excerpt, count, first_seen, last_seen, taught_category, taught_subcategory, taught_by, taught_at) VALUES
('resource_exhaustion:74eaa63f', 'resource_exhaustion', NULL, 'Out of resources: the fourth thing is too much', 'the fourth thing is too much', 3, 1800000006000, 1800000014000, NULL, NULL, '', NULL),
('transient:1dbe4b0e', 'transient', 'network', 'Network failure: connect to db.example port 5432 failed: Connection refused', 'connect to db.example port 5432 failed: Connection refused', 7, 1800000004000, 1800000069000, NULL, NULL, '', NULL),
('unknown:2afe66c6', 'unknown', NULL, 'Unknown failure: the third thing broke', '', 3, 1800000004000, 1800000012000, NULL, NULL, '', NULL),
('unknown:2e73bea9', 'unknown', NULL, 'Unknown failure: the ledger in module one is odd', '', 3, 1800000004000, 1800000012000, NULL, NULL, '', NULL),
('unknown:4a857e39', 'unknown', NULL, 'Unknown failure: the sixth thing broke', '', 3, 1800000008000, 1800000048000, NULL, NULL, '', NULL),
('unknown:809f390c', 'unknown', NULL, 'Unknown failure: the fifth thing is a riddle', '', 3, 1800000006000, 1800000014000, NULL, NULL, '', NULL),
('unknown:9064047b', 'unknown', NULL, 'Unknown failure: the feed in module two is odd', '', 3, 1800000006000, 1800000075000, NULL, NULL, '', NULL);
INSERT INTO failure_advice (fingerprint, advice, given, cured, last_given) VALUES
('resource_exhaustion:74eaa63f', 'Use less of what ran out, or provide more of it.', 2, 0, 1800000014000),
('transient:1dbe4b0e', 'Try again; if it lasts, check that the host is up and can be reached from here.', 1, 0, 1800000069000),
('unknown:2afe66c6', 'Read the end of the log; nothing in it names a cause that is known here.', 2, 0, 1800000012000),
('unknown:2e73bea9', 'Read the end of the log; nothing in it names a cause that is known here.', 2, 0, 1800000012000),
('unknown:4a857e39', 'Read the end of the log; nothing in it names a cause that is known here.', 3, 1, 1800000099000),
('unknown:809f390c', 'Read the end of the log; nothing in it names a cause that is known here.', 2, 0, 1800000014000),
('unknown:9064047b', 'Read the end of the log; nothing in it names a cause that is known here.', 2, 0, 1800000075000);
INSERT INTO failure_task (fingerprint, task_id, last_seen) VALUES
('resource_exhaustion:74eaa63f', 'xjbq', 1800000014000),
('transient:1dbe4b0e', 'c3hd', 1800000069000),
('transient:1dbe4b0e', 'kzhu', 1800000004000),
('transient:1dbe4b0e', 'qbxd', 1800000004000),
('transient:1dbe4b0e', 'rtwa', 1800000004000),
('transient:1dbe4b0e', 'scew', 1800000004000),
('transient:1dbe4b0e', 'txbb', 1800000006000),
('unknown:2afe66c6', 'qyvu', 1800000012000),
('unknown:2e73bea9', 'dr6m', 1800000012000),
('unknown:4a857e39', 'k3bq', 1800000048000),
('unknown:809f390c', 'vsph', 1800000014000),
('unknown:9064047b', 'txxt', 1800000075000);
