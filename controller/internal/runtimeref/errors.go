// SPDX-License-Identifier: Apache-2.0

package runtimeref

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	trainer "github.com/milepost-dev/milepost/controller/api/trainer/v1alpha1"
)

// ErrPredecessor says that an object still belongs to a deleted TrainJob of the
// same name. It passes as soon as the garbage collector has been there.
var ErrPredecessor = errors.New("an object of a deleted TrainJob of this name is still being removed")

// UnsupportedKindError says that a reference names a kind that is no runtime.
type UnsupportedKindError struct {
	GroupKind schema.GroupKind
}

func (e *UnsupportedKindError) Error() string {
	return "unsupported runtime: " + e.GroupKind.String()
}

// NotFoundError says that a reference names a runtime that does not exist.
type NotFoundError struct {
	Kind string
	Key  client.ObjectKey
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s %q not found", trainer.Kind(e.Kind), e.Key.Name)
}

// UnusableError says that no job can ever be made from a runtime as it is.
type UnusableError struct {
	Kind, Name string
	// Reason says what is wrong with it.
	Reason string
}

func (e *UnusableError) Error() string {
	return fmt.Sprintf("%s %q cannot be used: %s", e.Kind, e.Name, e.Reason)
}

func unusable(r *Runtime, format string, args ...any) error {
	return &UnusableError{Kind: r.Kind, Name: r.Meta.Name, Reason: fmt.Sprintf(format, args...)}
}
