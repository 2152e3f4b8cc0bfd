// SPDX-License-Identifier: Apache-2.0

package milepost

import (
	"fmt"
	"net/url"
	"strings"
)

// Variables that the controller sets in every container of a training node.
const (
	envURL    = "KUBEFLOW_TRAINER_SERVER_URL"
	envCACert = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	envToken  = "KUBEFLOW_TRAINER_SERVER_TOKEN"
)

// oldNames were used before a release; seeing only them means that the program expects too much.
var oldNames = []string{"KUBEFLOW_TRAINER_STATUS_URL", "KUBEFLOW_TRAINER_STATUS_CA_CERT", "KUBEFLOW_TRAINER_STATUS_TOKEN"}

// rankVariables name this process among all of a job, the most telling first. D2.
var rankVariables = []string{"RANK", nodeRank, "OMPI_COMM_WORLD_RANK", "JAX_PROCESS_ID", "SLURM_PROCID", "JOB_COMPLETION_INDEX"}

const (
	nodeRank  = "PET_NODE_RANK"
	localRank = "LOCAL_RANK"
)

// environment is where reports go.
type environment struct {
	url       string
	caFile    string
	tokenFile string
}

// readEnvironment finds the endpoint. Its second result says what is missing or unusable; it is
// empty when the reporter can be active. D1.
func readEnvironment(get func(string) string) (environment, string) {
	env := environment{url: get(envURL), caFile: get(envCACert), tokenFile: get(envToken)}
	var problems []string
	for _, v := range []struct{ name, value string }{{envURL, env.url}, {envCACert, env.caFile}, {envToken, env.tokenFile}} {
		if v.value == "" {
			problems = append(problems, v.name+" is not set")
		} else if v.name == envURL && !isEndpoint(v.value) {
			problems = append(problems, v.name+" is no https URL")
		}
	}
	if env == (environment{}) {
		for _, name := range oldNames {
			if get(name) != "" {
				problems = append(problems, name+" is set but no longer read")
			}
		}
	}
	return env, strings.Join(problems, ", ")
}

// isEndpoint accepts absolute https URLs alone: a token does not travel in the clear.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.Hostname() != ""
}

// otherRank says why another process reports, or nothing when this one does. D2.
func otherRank(get func(string) string, option *int) string {
	if option != nil {
		if *option == 0 {
			return ""
		}
		return fmt.Sprintf("the option says rank %d", *option)
	}
	for _, name := range rankVariables {
		digits, ok := wholeNumber(get(name))
		if !ok {
			continue
		}
		if digits != "0" {
			return fmt.Sprintf("%s says rank %s", name, digits)
		}
		if local, ok := wholeNumber(get(localRank)); ok && name == nodeRank && local != "0" {
			return fmt.Sprintf("%s says rank %s of the first node", localRank, local)
		}
		return ""
	}
	return ""
}

// wholeNumber reads a number ≥ 0 of any size, without leading zeros.
func wholeNumber(text string) (digits string, ok bool) {
	text = strings.Trim(text, " \t\r\n")
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return "", false
	}
	if digits = strings.TrimLeft(text, "0"); digits == "" {
		digits = "0"
	}
	return digits, true
}
