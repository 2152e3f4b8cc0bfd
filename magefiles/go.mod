module github.com/milepost-dev/milepost/magefiles

go 1.26.0

tool github.com/magefile/mage

require (
	github.com/magefile/mage v1.17.2
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/net v0.62.0
)
