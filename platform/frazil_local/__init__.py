"""The embedded stack: real servers on loopback, stand-ins for clouds, made-up records. The extra `local`."""
