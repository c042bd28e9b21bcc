"""Recorded runs as OpenTelemetry spans in the GenAI conventions: laid out, encoded, sent or written.

Needs the extra ``otlp`` for what encodes; laying out does not.
"""
