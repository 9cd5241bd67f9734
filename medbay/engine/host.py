"""What this machine can say about itself and about the workers of others."""

from __future__ import annotations

import os
import socket

from medbay import env
from medbay.core.model import Worker
from medbay.engine.settings import Host
from medbay.runners.processes import identity_of, is_alive
from medbay.runners.protocol import Identity
from medbay.service.workers import Sighting


def this_host() -> Host:
    """The process that calls this."""
    identity = identity_of(os.getpid())
    return Host(
        name=socket.gethostname(),
        machine_id=env.machine_id(),
        boot_id=env.boot_id(),
        pid=os.getpid(),
        pid_start=identity.pid_start if identity else 0,
    )


def see(worker: Worker, host: Host) -> Sighting:
    """Whether a worker's process is still there, as far as this machine can tell."""
    if (worker.machine_id, worker.host) != (host.machine_id, host.name):
        return "elsewhere"
    if worker.boot_id != host.boot_id:
        return "rebooted"
    alive = is_alive(Identity(pid=worker.pid, pid_start=worker.pid_start, group=worker.pid))
    return "alive" if alive else "dead"
