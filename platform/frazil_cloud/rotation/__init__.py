"""Keys that are replaced while they are in use: nobody is refused meanwhile."""
