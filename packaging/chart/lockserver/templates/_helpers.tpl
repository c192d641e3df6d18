{{- define "lockserver.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "lockserver.members" -}}
{{- printf "%s-members" (include "lockserver.name" .) -}}
{{- end -}}

{{- define "lockserver.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* What follows is of a group: one of several shards, if .Shard has its name. */}}
{{- define "lockserver.group" -}}
{{- if .Shard -}}
{{- printf "%s-%s" (include "lockserver.name" . | trunc 46 | trimSuffix "-") .Shard -}}
{{- else -}}
{{- include "lockserver.name" . -}}
{{- end -}}
{{- end -}}

{{- define "lockserver.groupSelector" -}}
{{ include "lockserver.selector" . }}
{{- if .Shard }}
app.kubernetes.io/component: {{ .Shard }}
{{- end }}
{{- end -}}

{{- define "lockserver.labels" -}}
{{ include "lockserver.groupSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lockserver.domain" -}}
{{- printf "%s.%s.svc.%s" (include "lockserver.members" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{/* The members that form the group, as raft-members has them. */}}
{{- define "lockserver.raftMembers" -}}
{{- $name := include "lockserver.group" . -}}
{{- $domain := include "lockserver.domain" . -}}
{{- $all := list -}}
{{- range $i := until (int .Values.members) -}}
{{- $pod := printf "%s-%d" $name $i -}}
{{- $all = append $all (printf "%s=%s.%s:%d/%s.%s:%d" $pod $pod $domain (int $.Values.ports.raft) $pod $domain (int $.Values.ports.clients)) -}}
{{- end -}}
{{- join " " $all -}}
{{- end -}}

{{/* The slots of the shard with the number .Number, counted from 0. */}}
{{- define "lockserver.slots" -}}
{{- $shards := int .Values.shards -}}
{{- printf "%d-%d" (div (mul 16384 .Number) $shards) (sub (div (mul 16384 (add1 .Number)) $shards) 1) -}}
{{- end -}}

{{/* The addresses of the first members of all other shards. */}}
{{- define "lockserver.peers" -}}
{{- $own := .Shard -}}
{{- $all := list -}}
{{- range $n := until (int .Values.shards) -}}
{{- $shard := printf "s%d" (add1 $n) -}}
{{- if ne $shard $own -}}
{{- $group := include "lockserver.group" (dict "Values" $.Values "Release" $.Release "Chart" $.Chart "Shard" $shard) -}}
{{- range $i := until 2 -}}
{{- $all = append $all (printf "%s-%d.%s:%d" $group $i (include "lockserver.domain" $) (int $.Values.ports.clients)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- join " " $all -}}
{{- end -}}

{{/* A value of .Values.config as a directive has it. */}}
{{- define "lockserver.word" -}}
{{- if kindIs "bool" . -}}{{- ternary "yes" "no" . -}}
{{- else if kindIs "float64" . -}}{{- printf "%.0f" . -}}
{{- else -}}{{- toString . -}}{{- end -}}
{{- end -}}

{{/* The words of a health check, in front of --live or --ready. */}}
{{- define "lockserver.health" -}}
- /usr/bin/lockserver
- health
- --addr
- 127.0.0.1:{{ .Values.ports.clients }}
{{- if .Values.auth.enabled }}
- --pass-file
- /secrets/password
{{- end }}
{{- if .Values.tls.enabled }}
- --tls
- --insecure
- --cert
- /tls/tls.crt
- --key
- /tls/tls.key
{{- end }}
{{- end -}}

{{- define "lockserver.check" -}}
{{- if not (has (int .Values.members) (list 3 5)) -}}
{{- fail "members: 3 or 5" -}}
{{- end -}}
{{- if and .Values.auth.enabled (not .Values.auth.existingSecret) -}}
{{- fail "auth.existingSecret: name the secret that has the password, or set auth.enabled=false" -}}
{{- end -}}
{{- if and .Values.tls.enabled (not .Values.tls.existingSecret) -}}
{{- fail "tls.existingSecret: name the secret that has tls.crt, tls.key and ca.crt" -}}
{{- end -}}
{{- if and (or .Values.admin.serviceMonitor .Values.admin.prometheusRule) (not .Values.admin.enabled) -}}
{{- fail "admin.enabled: serviceMonitor and prometheusRule need it" -}}
{{- end -}}
{{- if not (has (int .Values.shards) (untilStep 1 65 1)) -}}
{{- fail "shards: 1 to 64" -}}
{{- end -}}
{{- if and (gt (int .Values.shards) 1) (ne .Values.clients "cluster") -}}
{{- fail "clients: several shards need cluster" -}}
{{- end -}}
{{- if not (has .Values.antiAffinity (list "hard" "soft" "none")) -}}
{{- fail "antiAffinity: hard, soft or none" -}}
{{- end -}}
{{- range $name, $_ := .Values.config -}}
{{- if has $name (list "raft-id" "raft-listen" "raft-members" "raft-group" "raft-clients" "raft-tls" "cluster-enabled" "cluster-name" "cluster-shard" "cluster-slots" "cluster-peers" "tls-replication" "port" "tls-port" "bind" "dir" "requirepass" "masterauth") -}}
{{- fail (printf "config.%s: the chart sets it, or it is a secret" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
