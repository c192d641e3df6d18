{{/* A group: the only one, or a shard of a cluster. */}}
{{- define "lockserver.statefulset" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ include "lockserver.group" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "lockserver.labels" . | nindent 4 }}
spec:
  serviceName: {{ include "lockserver.members" . }}
  replicas: {{ .Values.members }}
  # The group forms when all members are there.
  podManagementPolicy: Parallel
  updateStrategy:
    type: RollingUpdate
  selector:
    matchLabels: {{- include "lockserver.groupSelector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "lockserver.labels" . | nindent 8 }}
        {{- with .Values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with .Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "lockserver.name" . }}
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- if .Values.affinity }}
      affinity: {{- toYaml .Values.affinity | nindent 8 }}
      {{- else if eq .Values.antiAffinity "hard" }}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: {{- include "lockserver.groupSelector" . | nindent 18 }}
      {{- else if eq .Values.antiAffinity "soft" }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "lockserver.groupSelector" . | nindent 20 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "lockserver.groupSelector" . | nindent 14 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: lockserver
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          args:
            - --raft-id
            - $(POD_NAME)
            - --raft-listen
            - ":{{ .Values.ports.raft }}"
            - --raft-members
            - {{ include "lockserver.raftMembers" . | quote }}
            - --raft-group
            - {{ printf "%s/%s" .Release.Namespace (include "lockserver.group" .) | quote }}
            - --raft-clients
            - {{ .Values.clients | quote }}
            {{- if .Shard }}
            - --cluster-enabled
            - "yes"
            - --cluster-name
            - {{ printf "%s.%s" .Release.Namespace (include "lockserver.name" .) | trunc 64 | quote }}
            - --cluster-shard
            - {{ .Shard }}
            - --cluster-slots
            - {{ include "lockserver.slots" . | quote }}
            - --cluster-peers
            - {{ include "lockserver.peers" . | quote }}
            {{- end }}
            {{- if .Values.tls.enabled }}
            - --raft-tls
            - "yes"
            - --port
            - "0"
            - --tls-port
            - {{ .Values.ports.clients | quote }}
            - --tls-cert-file
            - /tls/tls.crt
            - --tls-key-file
            - /tls/tls.key
            - --tls-ca-cert-file
            - /tls/ca.crt
            - --tls-auth-clients
            - {{ .Values.tls.authClients | quote }}
            {{- if .Shard }}
            - --tls-replication
            - "yes"
            {{- end }}
            {{- else }}
            - --raft-tls
            - "no"
            - --port
            - {{ .Values.ports.clients | quote }}
            {{- end }}
            {{- if .Values.auth.enabled }}
            - --requirepass-file
            - /secrets/password
            {{- if .Shard }}
            - --masterauth-file
            - /secrets/password
            {{- end }}
            {{- end }}
            {{- if .Values.admin.enabled }}
            - --admin-bind
            - 0.0.0.0
            - --admin-port
            - {{ .Values.admin.port | quote }}
            {{- end }}
            {{- range $name, $value := .Values.config }}
            - --{{ $name }}
            - {{ include "lockserver.word" $value | quote }}
            {{- end }}
          env:
            - name: POD_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
          ports:
            - name: clients
              containerPort: {{ .Values.ports.clients }}
            - name: raft
              containerPort: {{ .Values.ports.raft }}
            {{- if .Values.admin.enabled }}
            - name: admin
              containerPort: {{ .Values.admin.port }}
            {{- end }}
          startupProbe:
            exec:
              command: {{- include "lockserver.health" . | nindent 16 }}
                - --live
            timeoutSeconds: 5
            {{- toYaml .Values.probes.startup | nindent 12 }}
          livenessProbe:
            exec:
              command: {{- include "lockserver.health" . | nindent 16 }}
                - --live
            timeoutSeconds: 5
            {{- toYaml .Values.probes.liveness | nindent 12 }}
          readinessProbe:
            exec:
              command: {{- include "lockserver.health" . | nindent 16 }}
                - --ready
                - --max-lag
                - {{ .Values.probes.maxLag | quote }}
            timeoutSeconds: 5
            {{- toYaml .Values.probes.readiness | nindent 12 }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          volumeMounts:
            - name: data
              mountPath: /data
            {{- if .Values.auth.enabled }}
            - name: password
              mountPath: /secrets
              readOnly: true
            {{- end }}
            {{- if .Values.tls.enabled }}
            - name: tls
              mountPath: /tls
              readOnly: true
            {{- end }}
      {{- if or .Values.auth.enabled .Values.tls.enabled }}
      volumes:
        {{- if .Values.auth.enabled }}
        - name: password
          secret:
            secretName: {{ .Values.auth.existingSecret }}
            items:
              - key: {{ .Values.auth.key }}
                path: password
        {{- end }}
        {{- if .Values.tls.enabled }}
        - name: tls
          secret:
            secretName: {{ .Values.tls.existingSecret }}
        {{- end }}
      {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: {{- toYaml .Values.persistence.accessModes | nindent 10 }}
        {{- with .Values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ .Values.persistence.size }}
{{- end -}}
