// SPDX-License-Identifier: Apache-2.0

// Package main is the other side of the compatibility tests: a program built from the API types
// of Kubeflow Trainer v2.3.0 with the libraries of that release.
//
// It is a module of its own because those types do not compile with the Kubernetes version that
// Milepost uses. It reads one JSON request per line and answers each with one line, until the
// input ends. It owns no judgement: comparing is the caller's part.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"

	configapi "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kjson "sigs.k8s.io/json"
)

// request asks for one object. With Object set the program decodes and encodes it; otherwise it
// makes one up from Seed, with every field set if Full, and fills in defaults if Default.
type request struct {
	Kind    string          `json:"kind"`
	Object  json.RawMessage `json:"object,omitempty"`
	Seed    int64           `json:"seed,omitempty"`
	Full    bool            `json:"full,omitempty"`
	Default bool            `json:"default,omitempty"`
}

// answer carries the object as these types write it. Problems are what strict decoding says of
// the object that was sent; Error means that there is no object.
type answer struct {
	Object   any      `json:"object,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Error    string   `json:"error,omitempty"`
}

var kinds = map[string]func() any{
	"Configuration":               func() any { return &configapi.Configuration{} },
	"ClusterTrainingRuntime":      func() any { return &trainer.ClusterTrainingRuntime{} },
	"ClusterTrainingRuntimeList":  func() any { return &trainer.ClusterTrainingRuntimeList{} },
	"TrainingRuntime":             func() any { return &trainer.TrainingRuntime{} },
	"TrainingRuntimeList":         func() any { return &trainer.TrainingRuntimeList{} },
	"TrainJob":                    func() any { return &trainer.TrainJob{} },
	"TrainJobList":                func() any { return &trainer.TrainJobList{} },
	"UpdateTrainJobStatusRequest": func() any { return &trainer.UpdateTrainJobStatusRequest{} },
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var req request
		err := requests.Decode(&req)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		if err := answers.Encode(handle(req)); err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
}

func handle(req request) answer {
	create, ok := kinds[req.Kind]
	if !ok {
		return answer{Error: fmt.Sprintf("no kind %q", req.Kind)}
	}
	result := answer{Object: create()}
	switch {
	case len(req.Object) > 0:
		problems, err := kjson.UnmarshalStrict(req.Object, result.Object)
		if err != nil {
			return answer{Error: err.Error()}
		}
		for _, problem := range problems {
			result.Problems = append(result.Problems, problem.Error())
		}
	case req.Default:
		configapi.SetDefaults_Configuration(result.Object.(*configapi.Configuration))
	default:
		fill(result.Object, req.Seed, req.Full)
	}
	return result
}

func fill(object any, seed int64, full bool) {
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(seed), codecs)
	filler.NumElements(0, 3)
	if full {
		filler.NilChance(0).NumElements(1, 2)
	}
	filler.Fill(object)
}
