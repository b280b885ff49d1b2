"""A Spark Connect server by Sail: it prints its port, and ends when its standard input does."""

from __future__ import annotations

import sys

from pysail.spark import SparkConnectServer

if __name__ == "__main__":
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    print(server.listening_address[1], flush=True)
    sys.stdin.read()
