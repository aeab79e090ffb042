"""Iceberg catalogs: how they are opened, what they refuse, and what of PyIceberg is private."""
