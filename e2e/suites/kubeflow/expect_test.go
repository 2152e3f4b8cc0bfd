// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package kubeflow

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// runtime is what client.py says of a training runtime. Runs is the program its commands start.
type runtime struct {
	Name      string
	Kind      string
	Framework string
	Image     string
	Nodes     int
	Runs      string
}

// event is what client.py says of an event.
type event struct {
	Kind   string
	Name   string
	Reason string
}

func expectGone(ctx SpecContext, name string) {
	GinkgoHelper()
	Eventually(func() bool {
		err := bed.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &trainer.TrainJob{})
		return apierrors.IsNotFound(err)
	}).WithContext(ctx).Should(BeTrue(), "TrainJob %s is gone", name)
}
