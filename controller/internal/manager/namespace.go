// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"strings"
)

const (
	// namespaceFile is where kubelet tells a pod its own namespace.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// defaultNamespace is where Kubeflow Trainer is installed by its documentation.
	defaultNamespace = "kubeflow-system"
)

// ownNamespace is the namespace of the Service, the certificate Secret and the lease: POD_NAMESPACE
// where it is set (a manager outside of a pod needs it), else that of the pod, else the default.
func ownNamespace() string {
	if name := strings.TrimSpace(os.Getenv("POD_NAMESPACE")); name != "" {
		return name
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		if name := strings.TrimSpace(string(content)); name != "" {
			return name
		}
	}
	return defaultNamespace
}
