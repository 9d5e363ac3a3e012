{{- define "srcip.name" -}}
{{- .Release.Name | trunc 30 | trimSuffix "-" -}}
{{- end -}}

{{- define "srcip.labels" -}}
app.kubernetes.io/name: srcip
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "srcip.image" -}}
{{- $repository := required "image.repository is missing: where the srcip image is, such as registry.example.org/srcip" .Values.image.repository -}}
{{- $digest := required "image.digest is missing: sha256:… of the image; kubectl srcip mirror inspect REPOSITORY:TAG prints it" .Values.image.digest -}}
{{- $repository }}@{{ $digest -}}
{{- end -}}

{{- define "srcip.proxyName" -}}
{{- if eq .path.name "default" -}}
{{- include "srcip.name" .root }}-proxy
{{- else -}}
{{- include "srcip.name" .root }}-proxy-{{ .path.name -}}
{{- end -}}
{{- end -}}

{{- define "srcip.headlessName" -}}
{{- include "srcip.proxyName" . }}-endpoints
{{- end -}}

{{- /* The object that ExternalDNS reads; another name than any Service of the chart. */ -}}
{{- define "srcip.externalDnsName" -}}
{{- include "srcip.name" . }}-external-dns
{{- end -}}

{{- define "srcip.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "srcip.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "srcip.scheduling" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "srcip.podFields" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end -}}

{{- /* Helm's own message names the Job and nothing else: so the name says what to do when it fails. */ -}}
{{- define "srcip.hookName" -}}
{{- include "srcip.name" . }}-or-run-kubectl-srcip-cleanup
{{- end -}}

{{- define "srcip.hookMeta" -}}
labels:
  {{- include "srcip.labels" . | nindent 2 }}
  srcip.dev/component: hook
annotations:
  helm.sh/hook: pre-delete
{{- end -}}

{{- define "srcip.defaultPorts" -}}
- {service: 80, listen: 8080}
- {service: 443, listen: 8443}
{{- end -}}

{{- define "srcip.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}
