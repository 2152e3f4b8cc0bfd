// SPDX-License-Identifier: Apache-2.0

// Package reportlink holds the strings by which a training pod finds and
// addresses the report endpoint: environment names, mount paths, URL path,
// token audience and CA ConfigMap.
//
// It owns the spelling of these strings and nothing else. It does not own the
// server (intake), the proof of the caller (podidentity) or the edit of the pod
// template (reporterwiring). It is the one package that the report flow and the
// job flow share, so it imports nothing of either.
package reportlink

import (
	"net"
	"strconv"
)

// Environment variables that a trainer container reads. Published clients know
// exactly these names.
const (
	// EnvServerURL holds the full address that reports are posted to.
	EnvServerURL = "KUBEFLOW_TRAINER_SERVER_URL"
	// EnvServerCACert holds the path of the file with the CA certificates.
	EnvServerCACert = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	// EnvServerToken holds the path of the token file, not the token itself.
	EnvServerToken = "KUBEFLOW_TRAINER_SERVER_TOKEN"
)

// Where the credentials of a trainer container are mounted.
const (
	// MountDir is the folder that holds CACertFile and TokenFile.
	MountDir = "/var/run/secrets/kubeflow/trainer"
	// CACertFile is the name of the CA file below MountDir.
	CACertFile = "ca.crt"
	// TokenFile is the name of the token file below MountDir.
	TokenFile = "token"
	// VolumeName is the name of the projected volume in the pod.
	VolumeName = "kubeflow-trainer-token"
	// TokenExpirationSeconds is the life asked for the projected token.
	TokenExpirationSeconds = 3600
	// CAConfigMapKey is the key of the CA certificates in the ConfigMap.
	CAConfigMapKey = "ca.crt"
)

const (
	apiPrefix      = "trainer.kubeflow.org/v1alpha1/namespaces/"
	jobsSegment    = "/trainjobs/"
	statusSegment  = "/status"
	configMapTrail = "-tls-config"
)

// Path returns the URL path of a TrainJob's status.
func Path(namespace, name string) string {
	return "/apis/" + apiPrefix + namespace + jobsSegment + name + statusSegment
}

// Audience returns the audience that a token must carry to report for a
// TrainJob.
func Audience(namespace, name string) string {
	return apiPrefix + namespace + jobsSegment + name + statusSegment
}

// URL returns the address that a trainer container posts to.
func URL(host string, port int32, namespace, name string) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(int(port))) + Path(namespace, name)
}

// ServiceHost returns the cluster DNS name of a Service. It is the only name
// the serving certificate is sure to hold.
func ServiceHost(service, namespace string) string {
	return service + "." + namespace + ".svc"
}

// CAConfigMapName returns the name of the ConfigMap that carries the CA
// certificates to the pods of a TrainJob.
func CAConfigMapName(trainJob string) string {
	return trainJob + configMapTrail
}
