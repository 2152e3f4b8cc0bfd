{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{- define "milepost.runtimes.configmap" -}}
{{ include "milepost.fullname" . }}-runtimes
{{- end }}

{{/* Whether any runtime is installed: "true" or nothing. */}}
{{- define "milepost.runtimes.any" -}}
{{- with .Values.runtimes }}
{{- if or .defaultEnabled .torchDistributed.enabled .plainDistributed.enabled }}true{{ end }}
{{- end }}
{{- end }}

{{/* Names of all runtimes that this chart can install. */}}
{{- define "milepost.runtimes.names" -}}
[torch-distributed, plain-distributed]
{{- end }}

{{/* A runtime: (dict "root" $ "name" NAME "framework" NAME "policy" POLICY "image" REFERENCE). */}}
{{- define "milepost.runtime" -}}
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: {{ .name }}
  labels:
    {{- toYaml (merge (dict "trainer.kubeflow.org/framework" .framework) .root.Values.runtimes.commonLabels .root.Values.commonLabels) | nindent 4 }}
spec:
  mlPolicy:
    {{- toYaml .policy | nindent 4 }}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata:
              labels:
                trainer.kubeflow.org/trainjob-ancestor-step: trainer
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: {{ .image }}
{{- end }}

{{/* The runtimes that are switched on, one file each. */}}
{{- define "milepost.runtimes.files" -}}
{{- $runtimes := .Values.runtimes }}
{{- if or $runtimes.defaultEnabled $runtimes.torchDistributed.enabled }}
torch-distributed.yaml: |
  {{- include "milepost.runtime" (dict "root" $ "name" "torch-distributed" "framework" "torch"
        "policy" (dict "numNodes" 1 "torch" dict) "image" (include "milepost.image" (list $runtimes.torchDistributed.image ""))) | nindent 2 }}
{{- end }}
{{- if or $runtimes.defaultEnabled $runtimes.plainDistributed.enabled }}
plain-distributed.yaml: |
  {{- include "milepost.runtime" (dict "root" $ "name" "plain-distributed" "framework" "plain"
        "policy" (dict "numNodes" 1) "image" (include "milepost.image" (list $runtimes.plainDistributed.image ""))) | nindent 2 }}
{{- end }}
{{- end }}
