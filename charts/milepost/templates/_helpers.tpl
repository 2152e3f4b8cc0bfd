{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{/* Base name. Published clients look for kubeflow-trainer-*, so it is not the name of the chart. */}}
{{- define "milepost.name" -}}
{{- default "kubeflow-trainer" .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Beginning of the names of all objects; short enough for the longest ending. */}}
{{- define "milepost.fullname" -}}
{{- $name := include "milepost.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "milepost.selectorLabels" -}}
app.kubernetes.io/name: {{ include "milepost.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "milepost.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "milepost.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: kubeflow
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Reference of an image: (list VALUES DEFAULT-TAG). docker.io is left out, as is usual. */}}
{{- define "milepost.image" -}}
{{- $image := index . 0 }}
{{- $tag := $image.tag | default (index . 1) }}
{{- if eq $image.registry "docker.io" }}
{{- printf "%s:%s" (trimPrefix "library/" $image.repository) $tag }}
{{- else }}
{{- printf "%s/%s:%s" $image.registry $image.repository $tag }}
{{- end }}
{{- end }}

{{/* The port of an address such as ":8443", or nothing for "0", which turns a server off. */}}
{{- define "milepost.port" -}}
{{- if contains ":" . }}{{ regexFind "[0-9]+$" . }}{{ end }}
{{- end }}

{{/* Fails where values are fine one by one and wrong together. */}}
{{- define "milepost.check" -}}
{{- $config := .Values.manager.config }}
{{- if and (gt (int .Values.manager.replicas) 1) (not $config.leaderElection.leaderElect) }}
{{- fail "manager.replicas is more than 1, so manager.config.leaderElection.leaderElect has to be true" }}
{{- end }}
{{- $used := dict }}
{{- $ports := dict
      "manager.config.webhook.port" (toString (int $config.webhook.port))
      "manager.config.metrics.bindAddress" (include "milepost.port" $config.metrics.bindAddress)
      "manager.config.health.healthProbeBindAddress" (include "milepost.port" $config.health.healthProbeBindAddress) }}
{{- if $config.featureGates.TrainJobStatus }}
{{- $_ := set $ports "manager.config.statusServer.port" (toString (int $config.statusServer.port)) }}
{{- end }}
{{- range $value := keys $ports | sortAlpha }}
{{- $port := get $ports $value }}
{{- if and $port (hasKey $used $port) }}
{{- fail (printf "%s and %s both take port %s" (get $used $port) $value $port) }}
{{- end }}
{{- $_ := set $used $port $value }}
{{- end }}
{{- end }}
