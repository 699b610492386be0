"""Trains a language model from files to files: docs/training-jobs.md is the protocol."""
