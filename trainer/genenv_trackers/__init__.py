"""Sends the committed epochs of a run to an experiment tracker: `python -m genenv_trackers NAME`, asked over standard
input by src/tracking/adapter.ts. No torch is imported."""
