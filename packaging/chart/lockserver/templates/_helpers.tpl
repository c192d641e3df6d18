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

{{- define "lockserver.labels" -}}
{{ include "lockserver.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lockserver.domain" -}}
{{- printf "%s.%s.svc.%s" (include "lockserver.members" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{/* The members that form the group, as raft-members has them. */}}
{{- define "lockserver.raftMembers" -}}
{{- $name := include "lockserver.name" . -}}
{{- $domain := include "lockserver.domain" . -}}
{{- $all := list -}}
{{- range $i := until (int .Values.members) -}}
{{- $pod := printf "%s-%d" $name $i -}}
{{- $all = append $all (printf "%s=%s.%s:%d/%s.%s:%d" $pod $pod $domain (int $.Values.ports.raft) $pod $domain (int $.Values.ports.clients)) -}}
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
{{- if not (has .Values.antiAffinity (list "hard" "soft" "none")) -}}
{{- fail "antiAffinity: hard, soft or none" -}}
{{- end -}}
{{- range $name, $_ := .Values.config -}}
{{- if has $name (list "raft-id" "raft-listen" "raft-members" "raft-group" "raft-clients" "raft-tls" "port" "tls-port" "bind" "dir" "requirepass" "masterauth") -}}
{{- fail (printf "config.%s: the chart sets it, or it is a secret" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
