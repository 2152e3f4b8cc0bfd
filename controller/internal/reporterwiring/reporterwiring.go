// SPDX-License-Identifier: Apache-2.0

// Package reporterwiring gives the training containers of a Plan what they need to
// report: the address of the endpoint, the CA to trust and a token made out for
// this TrainJob alone.
//
// It owns the edit of the pod template and the form of the CA ConfigMap. It does
// not own the spelling of names (reportlink), any write or the endpoint.
package reporterwiring

import (
	"errors"
	"fmt"
	"path"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
	"github.com/milepost-dev/milepost/controller/internal/reportlink"
	"github.com/milepost-dev/milepost/controller/internal/runtimeplan"
)

// Endpoint is where reports are sent.
type Endpoint struct {
	// Host is the DNS name that the serving certificate holds.
	Host string
	// Port is 1–65535.
	Port int32
}

// Validate checks the ranges of the fields.
func (e Endpoint) Validate() error {
	if e.Host == "" {
		return errors.New("the host of the status server is empty")
	}
	if e.Port < 1 || e.Port > 65535 {
		return fmt.Errorf("the port of the status server is %d, it must be between 1 and 65535", e.Port)
	}
	return nil
}

// Wire edits every container, but no init container, of the first pod set that
// trains. Values that the runtime gives to the same names are replaced.
func Wire(plan *runtimeplan.Plan, endpoint Endpoint, namespace string) {
	nodes := plan.FirstWithAncestor(trainer.AncestorTrainer)
	if nodes == nil {
		return
	}
	env := []corev1ac.EnvVarApplyConfiguration{
		runtimeplan.Env(reportlink.EnvServerURL, reportlink.URL(endpoint.Host, endpoint.Port, namespace, plan.TrainJob)),
		runtimeplan.Env(reportlink.EnvServerCACert, path.Join(reportlink.MountDir, reportlink.CACertFile)),
		runtimeplan.Env(reportlink.EnvServerToken, path.Join(reportlink.MountDir, reportlink.TokenFile)),
	}
	mount := corev1ac.VolumeMount().
		WithName(reportlink.VolumeName).
		WithMountPath(reportlink.MountDir).
		WithReadOnly(true)
	for i := range nodes.Pod.Containers {
		container := &nodes.Pod.Containers[i]
		runtimeplan.SetEnv(container, env...)
		runtimeplan.SetVolumeMounts(container, *mount)
	}
	nodes.SetVolumes(*credentials(namespace, plan.TrainJob))
}

// credentials is one projected volume, so that token and CA are always of the
// same moment for whoever reads both.
func credentials(namespace, trainJob string) *corev1ac.VolumeApplyConfiguration {
	token := corev1ac.ServiceAccountTokenProjection().
		WithAudience(reportlink.Audience(namespace, trainJob)).
		WithExpirationSeconds(reportlink.TokenExpirationSeconds).
		WithPath(reportlink.TokenFile)
	authority := corev1ac.ConfigMapProjection().
		WithName(reportlink.CAConfigMapName(trainJob)).
		WithItems(corev1ac.KeyToPath().
			WithKey(reportlink.CAConfigMapKey).
			WithPath(reportlink.CACertFile))
	return corev1ac.Volume().
		WithName(reportlink.VolumeName).
		WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
			corev1ac.VolumeProjection().WithServiceAccountToken(token),
			corev1ac.VolumeProjection().WithConfigMap(authority),
		))
}
