module github.com/milepost-dev/milepost/reporters/conformance

go 1.26.0

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/mod v0.43.0
)

require golang.org/x/text v0.43.0 // indirect
