"""A network link between a client and the brokers that we start: it delays bytes and limits the bandwidth.

The link is a TCP proxy in a process of its own, which needs no rights beyond those of the user. `ZonedCluster` starts
brokers that clients reach only through it. The proxy's modules need only the standard library.
"""
