{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{/*
A built-in runtime: (dict "root" $ "hook" HOOKS "name" NAME "framework" NAME "policy" POLICY "image" REFERENCE).

Runtimes are hooks, since Helm cannot create objects of a CRD that the same release brings. A hook is not removed with the
release, so each runtime stands in the release twice: once to be made after installing and upgrading, and once to be made and
removed again before the release goes, which takes the first one away.
*/}}
{{- define "milepost.runtime" -}}
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: {{ .name }}
  labels:
    {{- include "milepost.labels" .root | nindent 4 }}
    trainer.kubeflow.org/framework: {{ .framework }}
    {{- with .root.Values.runtimes.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    helm.sh/hook: {{ .hook }}
    helm.sh/hook-delete-policy: before-hook-creation{{ if eq .hook "pre-delete" }},hook-succeeded{{ end }}
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

{{/* The same runtime for installing and upgrading, and for the end of the release. */}}
{{- define "milepost.runtimeHooks" -}}
{{ include "milepost.runtime" (merge (dict "hook" "post-install,post-upgrade") .) }}
---
{{ include "milepost.runtime" (merge (dict "hook" "pre-delete") .) }}
{{- end }}
