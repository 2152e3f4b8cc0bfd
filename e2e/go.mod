module github.com/milepost-dev/milepost/e2e

go 1.26.0
