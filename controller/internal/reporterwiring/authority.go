// SPDX-License-Identifier: Apache-2.0

package reporterwiring

import (
	"crypto/sha256"
	"encoding/hex"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/milepost-dev/milepost/controller/internal/reportlink"
)

const (
	// LabelRole marks the ConfigMaps that carry CA certificates, so that a cache
	// can do without all others.
	LabelRole = "milepost.dev/role"
	// RoleAuthority is the value of LabelRole.
	RoleAuthority = "report-ca"
	// annotationDigest is the SHA-256 of the certificates, so that a cache can do
	// without them.
	annotationDigest = "milepost.dev/digest"
)

// Authority is the ConfigMap that the training pods of a TrainJob mount, without
// its owner. bundle is one CA certificate, or two during a rotation.
func Authority(namespace, trainJob, bundle string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(AuthorityName(trainJob), namespace).
		WithLabels(map[string]string{LabelRole: RoleAuthority}).
		WithAnnotations(map[string]string{annotationDigest: digest(bundle)}).
		WithData(map[string]string{reportlink.CAConfigMapKey: bundle})
}

// AuthorityName is the name of that ConfigMap.
func AuthorityName(trainJob string) string {
	return reportlink.CAConfigMapName(trainJob)
}

// HoldsAuthority says whether a ConfigMap with these annotations holds bundle.
func HoldsAuthority(annotations map[string]string, bundle string) bool {
	return annotations[annotationDigest] == digest(bundle)
}

func digest(bundle string) string {
	sum := sha256.Sum256([]byte(bundle))
	return hex.EncodeToString(sum[:])
}
