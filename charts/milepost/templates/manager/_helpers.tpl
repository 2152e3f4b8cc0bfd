{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "milepost.manager.name" -}}
{{ include "milepost.fullname" . }}-controller-manager
{{- end }}

{{- define "milepost.manager.service" -}}
{{ .Values.manager.config.certManagement.webhookServiceName | default (include "milepost.manager.name" .) }}
{{- end }}

{{- define "milepost.manager.secret" -}}
{{ .Values.manager.config.certManagement.webhookSecretName | default (printf "%s-webhook-cert" (include "milepost.fullname" .)) }}
{{- end }}

{{- define "milepost.manager.configmap" -}}
{{ include "milepost.fullname" . }}-config
{{- end }}

{{- define "milepost.manager.selectorLabels" -}}
{{ include "milepost.selectorLabels" . }}
app.kubernetes.io/component: manager
{{- with .Values.manager.selectorLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "milepost.manager.labels" -}}
{{ include "milepost.labels" . }}
app.kubernetes.io/component: manager
{{- with .Values.manager.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Whether reports are taken: "true" or nothing. */}}
{{- define "milepost.manager.takesReports" -}}
{{- if .Values.manager.config.featureGates.TrainJobStatus }}true{{ end }}
{{- end }}

{{/* Ports that speak TLS of their own, which a sidecar must leave alone. */}}
{{- define "milepost.manager.tlsPorts" -}}
{{- $config := .Values.manager.config }}
{{- $ports := list (toString (int $config.webhook.port)) }}
{{- if include "milepost.manager.takesReports" . }}
{{- $ports = append $ports (toString (int $config.statusServer.port)) }}
{{- end }}
{{- join "," $ports }}
{{- end }}

{{/* The configuration file, from the values and the names derived from the release. */}}
{{- define "milepost.manager.config" -}}
{{- $config := .Values.manager.config -}}
apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health:
  {{- toYaml $config.health | nindent 2 }}
metrics:
  {{- toYaml $config.metrics | nindent 2 }}
webhook:
  port: {{ int $config.webhook.port }}
  host: {{ $config.webhook.host | quote }}
leaderElection:
  {{- toYaml $config.leaderElection | nindent 2 }}
controller:
  groupKindConcurrency:
    TrainJob.trainer.kubeflow.org: {{ int $config.controller.groupKindConcurrency.trainJob }}
    TrainingRuntime.trainer.kubeflow.org: {{ int $config.controller.groupKindConcurrency.trainingRuntime }}
    ClusterTrainingRuntime.trainer.kubeflow.org: {{ int $config.controller.groupKindConcurrency.clusterTrainingRuntime }}
certManagement:
  enable: {{ $config.certManagement.enable }}
  webhookServiceName: {{ include "milepost.manager.service" . }}
  webhookSecretName: {{ include "milepost.manager.secret" . }}
clientConnection:
  qps: {{ $config.clientConnection.qps }}
  burst: {{ int $config.clientConnection.burst }}
statusServer:
  port: {{ int $config.statusServer.port }}
  qps: {{ $config.statusServer.qps }}
  burst: {{ int $config.statusServer.burst }}
{{- with $config.featureGates }}
featureGates:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $config.tls }}
tls:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
