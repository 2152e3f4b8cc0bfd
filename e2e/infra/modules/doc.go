// SPDX-License-Identifier: Apache-2.0

// Package modules runs a one-node Kubernetes cluster whose programs are all
// built from Go modules: no image registry, no download site and no Docker.
//
// It owns the cluster's network namespace, its state folder, its processes and
// their removal. It does not own how programs are built (package binaries) or
// what images hold (package images), and nothing in it knows what the cluster
// is used for.
//
// Every process of the cluster lives in one network namespace with the node's
// address on its loopback, so that no port of the machine is taken and nothing
// leaks out. Whatever talks to the cluster runs inside as well, see
// Cluster.Command. Processes are daemons that outlive the one that started
// them; each carries a mark in its environment by which it is found again, so
// that a lost state folder or a killed parent never leaves strays.
package modules
