"""Iceberg's format version 3, as far as PyIceberg 0.12 can't write it; a part goes once PyIceberg has it."""
