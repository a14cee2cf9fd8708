#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Fill, question and end a redis-server.

    redis_load.py SOCKET ping           status 0 if it answers
    redis_load.py SOCKET fill KEYS      sets KEYS keys, those of redis-benchmark -r KEYS, to
                                        values of 1,000 bytes
    redis_load.py SOCKET used           prints used_memory
    redis_load.py SOCKET shutdown       SHUTDOWN NOSAVE
"""
import socket
import sys

BATCH = 500
VALUE = b"v" * 1000


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(200)
    connection.connect(path)
    return connection


def command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def ping(connection):
    connection.sendall(command(b"PING"))
    return 0 if connection.recv(100) == b"+PONG\r\n" else 1


def fill(connection, keys):
    answers = connection.makefile("rb")
    for first in range(0, keys, BATCH):
        count = min(BATCH, keys - first)
        connection.sendall(b"".join(command(b"SET", b"key:%012d" % i, VALUE)
                                    for i in range(first, first + count)))
        for _ in range(count):
            if answers.readline() != b"+OK\r\n":
                return 1
    return 0


def used(connection):
    connection.sendall(command(b"INFO", b"memory"))
    answers = connection.makefile("r", newline="\r\n")
    for line in answers:
        if line.startswith("used_memory:"):
            print(line.split(":")[1].strip())
            return 0
    return 1


def shutdown(connection):
    connection.sendall(command(b"SHUTDOWN", b"NOSAVE"))
    return 0 if connection.recv(100) == b"" else 1


def main():
    connection = connect(sys.argv[1])
    if sys.argv[2] == "fill":
        return fill(connection, int(sys.argv[3]))
    return {"ping": ping, "used": used, "shutdown": shutdown}[sys.argv[2]](connection)


sys.exit(main())
