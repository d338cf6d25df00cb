"""Ports for kernels that the near end of no connection can have.

Clients look for a kernel before it listens, and after it has ended. The system gives the near ends of their
connections ports from a range, so once in some 25000 tries such an end has the very port that it looks for, and meets
itself. libzmq takes that for a peer of the wrong sort: a SUB or REQ socket never tries again, and is deaf for the
kernel that comes.
"""
import random
import socket

from jupyter_client.connect import LocalPortCache

LOWEST = 10000
FEW = 1000
find_any_port = LocalPortCache.find_available_port


def find_low_port(cache, ip):
    """A port that is free and below the range of near ends; in place of LocalPortCache.find_available_port."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        limit = int(file.read().split()[0])
    if limit - LOWEST < FEW:  # the range is nearly all there is
        return find_any_port(cache, ip)
    while True:
        port = random.randrange(LOWEST, limit)
        if port in cache.currently_used_ports:
            continue
        with socket.socket() as trial:
            try:
                trial.bind((ip, port))
            except OSError:
                continue
        cache.currently_used_ports.add(port)
        return port


def stay_low():
    """From now on kernels that this process starts get such ports."""
    LocalPortCache.find_available_port = find_low_port
