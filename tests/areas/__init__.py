"""Tests of the areas of the library."""
