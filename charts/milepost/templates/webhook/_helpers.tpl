{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}

{{/* One webhook: (dict "root" $ "name" NAME "path" PATH "resource" PLURAL "skippable" BOOL). */}}
{{- define "milepost.webhook" -}}
- name: {{ .name }}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: {{ .root.Values.webhook.failurePolicy }}
  timeoutSeconds: {{ int .root.Values.webhook.timeoutSeconds }}
  clientConfig:
    {{- with .root.Values.webhook.caBundle }}
    caBundle: {{ b64enc . }}
    {{- end }}
    service:
      name: {{ include "milepost.manager.service" .root }}
      namespace: {{ .root.Release.Namespace }}
      path: {{ .path }}
  {{- if .skippable }}
  objectSelector:
    matchExpressions:
      - key: trainer.kubeflow.org/webhook-validation
        operator: NotIn
        values: [disabled]
  {{- end }}
  rules:
    - apiGroups: [trainer.kubeflow.org]
      apiVersions: [v1alpha1]
      operations: [CREATE, UPDATE]
      resources: [{{ .resource }}]
{{- end }}

{{- define "milepost.webhook.metadata" -}}
labels:
  {{- include "milepost.labels" . | nindent 2 }}
  app.kubernetes.io/component: webhook
{{- with .Values.webhook.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
