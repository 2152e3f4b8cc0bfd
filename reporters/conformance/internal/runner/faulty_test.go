// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// faultVariable makes this test binary an executor that is right but for one fault.
const faultVariable = "MILEPOST_CONFORMANCE_FAULT"

func TestMain(m *testing.M) {
	if fault, asked := os.LookupEnv(faultVariable); asked {
		faultyExecutor(fault)
		return
	}
	os.Exit(m.Run())
}

// faultyExecutor is a reporter in one piece: it sends every report at once.
func faultyExecutor(fault string) {
	var client *http.Client
	requests := bufio.NewReader(os.Stdin)
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			break
		}
		var r map[string]json.RawMessage
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		op := strings.Trim(string(r["op"]), `"`)
		answer := map[string]any{"id": r["id"]}
		switch {
		case op == "create":
			client = newClient(fault)
			answer["active"] = true
		case op == "logs":
			answer["logs"] = []any{}
		case op == "report" && fault == "sends nothing":
		case op == "report" && fault == "raises":
			answer["raised"] = "an error"
		case op == "report":
			postReport(client, fault, r)
			if fault == "sends twice" {
				postReport(client, fault, r)
			}
		}
		if fault == "prints" {
			fmt.Println("progress: 10 %")
		}
		if fault == "answers another request" {
			answer["id"] = -1
		}
		text, _ := json.Marshal(answer)
		fmt.Println(string(text))
	}
	switch fault {
	case "never ends":
		time.Sleep(time.Hour)
	case "ends badly":
		os.Exit(3)
	}
}

func newClient(fault string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableCompression: fault != "asks for compression",
		TLSClientConfig:    &tls.Config{RootCAs: roots(fault), InsecureSkipVerify: fault == "trusts everyone"},
	}}
}

func roots(fault string) *x509.CertPool {
	pool := x509.NewCertPool()
	text, _ := os.ReadFile(os.Getenv("KUBEFLOW_TRAINER_SERVER_CA_CERT"))
	if fault != "trusts nobody" {
		pool.AppendCertsFromPEM(text)
	}
	return pool
}

func postReport(client *http.Client, fault string, r map[string]json.RawMessage) {
	var step, total int
	_ = json.Unmarshal(r["step"], &step)
	_ = json.Unmarshal(r["totalSteps"], &total)
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	body := fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d,"lastUpdatedTime":"%s"}}`, 100*step/total, now)
	switch fault {
	case "wrong number":
		body = strings.Replace(body, fmt.Sprint(100*step/total), "77", 1)
	case "number as text":
		body = strings.Replace(body, fmt.Sprint(100*step/total), `"10"`, 1)
	case "number with fraction":
		body = strings.Replace(body, ",", ".0,", 1)
	case "keys out of order":
		body = fmt.Sprintf(`{"trainerStatus":{"lastUpdatedTime":"%s","progressPercentage":%d}}`, now, 100*step/total)
	case "unknown key":
		body = strings.Replace(body, `{"progress`, `{"phase":"x","progress`, 1)
	case "empty metrics":
		body = strings.Replace(body, `"last`, `"metrics":[],"last`, 1)
	case "no time":
		body = fmt.Sprintf(`{"trainerStatus":{"progressPercentage":%d}}`, 100*step/total)
	case "old time":
		body = strings.Replace(body, now[:4], "1999", 1)
	case "time without fraction":
		body = strings.Replace(body, now[19:26], "", 1)
	case "no JSON":
		body = "progress=10"
	}
	send(client, fault, body)
}

func send(client *http.Client, fault, body string) {
	var from io.Reader = strings.NewReader(body)
	if fault == "chunks" {
		from = io.MultiReader(from)
	}
	if fault == "compresses" {
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = zip.Write([]byte(body))
		_ = zip.Close()
		from = &packed
	}
	method, target := http.MethodPost, os.Getenv("KUBEFLOW_TRAINER_SERVER_URL")
	switch fault {
	case "wrong method":
		method = http.MethodPut
	case "wrong path":
		target += "/"
	}
	request, _ := http.NewRequest(method, target, from)
	token, _ := os.ReadFile(os.Getenv("KUBEFLOW_TRAINER_SERVER_TOKEN"))
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "milepost-reporter-go/0")
	switch fault {
	case "wrong token":
		request.Header.Set("Authorization", "Bearer x")
	case "no type":
		request.Header.Del("Content-Type")
	case "compresses":
		request.Header.Set("Content-Encoding", "gzip")
	case "nameless":
		request.Header.Del("User-Agent")
	}
	if response, err := client.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	if fault == "new connections" {
		client.CloseIdleConnections()
	}
}
