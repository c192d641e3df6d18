#!/usr/bin/env bash
# Writes into a new folder what a server and its clients need for TLS: bash certificates.sh folder
#
#   ca.crt                  the authority that both trust
#   server.crt server.key   of localhost and 127.0.0.1
#   client.crt client.key   of a client whose name is ann; client.p12 has both, the password is "secret"
#   stranger.*              the same, by an authority that nobody trusts
set -euo pipefail
mkdir -p "$1"
cd "$1"

# issue makes a key and a certificate: issue file name extra-arguments-of-req...
issue() {
	local file=$1 name=$2
	shift 2
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
		-keyout "$file.key" -out "$file.crt" "$@" 2>>log || { cat log >&2; exit 1; }
}

# leaf is issue, but signed by an authority: leaf authority file name extra-arguments-of-req...
leaf() {
	issue "${@:2}" -CA "$1.crt" -CAkey "$1.key" -addext basicConstraints=critical,CA:FALSE
}

issue ca authority
issue other somebody-else
leaf ca server localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1
leaf ca client ann
leaf other stranger ann
for client in client stranger; do
	openssl pkcs12 -export -in $client.crt -inkey $client.key -out $client.p12 -passout pass:secret
done
