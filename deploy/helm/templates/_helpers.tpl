{{- define "kstreams.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "kstreams.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end -}}

{{- define "kstreams.labels" -}}
app.kubernetes.io/name: {{ include "kstreams.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "kstreams.metadata" -}}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "kstreams.labels" . | nindent 2 }}
  app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
  app.kubernetes.io/managed-by: {{ .Release.Service }}
  helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "kstreams.podSecurity" -}}
runAsNonRoot: true
runAsUser: 185
runAsGroup: 185
fsGroup: 185
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "kstreams.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "kstreams.programEnv" -}}
- name: KAFKA
  value: {{ .Values.kafka.bootstrap | quote }}
- name: CHECKPOINT
  value: {{ .Values.checkpoint.url | quote }}
{{- with .Values.app.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}
