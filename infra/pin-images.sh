#!/bin/sh
# Compares the digest of each image that compose file and Dockerfiles pin with what its tag leads to in the registry now.
# A tag moves when its image is built again, for example with Debian's updates; `--write` pins what it leads to.
# Needs docker with buildx, and the network.
set -eu

cd "$(dirname "$0")"
files="compose.yaml Dockerfile.worker Dockerfile.trainer"
moved=0
for pinned in $(grep --only-matching --no-filename --extended-regexp '[a-z][a-z0-9./-]*:[A-Za-z0-9._-]+@sha256:[0-9a-f]{64}' $files | sort --unique); do
  image=${pinned%@*}
  current=$image@$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
  if [ "$current" = "$pinned" ]; then
    echo "$image: as pinned"
    continue
  fi
  moved=1
  echo "$image: now ${current#*@}, pinned ${pinned#*@}"
  if [ "${1:-}" = --write ]; then
    for file in $files; do
      sed "s|$pinned|$current|g" "$file" > "$file.new"
      mv "$file.new" "$file"
    done
  fi
done
[ "$moved" = 0 ] || [ "${1:-}" = --write ]
