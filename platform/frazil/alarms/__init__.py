"""Telling people what fails, once per cause."""
