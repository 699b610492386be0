"""The embedded policy server: OpenAI's API over transformers, docs/policy-server.md is the protocol."""
