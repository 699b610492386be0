#!/bin/sh
# Makes the namespace, or sets its retention: closed workflows stay that long, so that last week's crash can still be looked at.
set -eu

temporal operator cluster health
if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" > /dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi
