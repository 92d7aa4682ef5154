// Package commands keeps `go mod tidy` honest about what the testbed builds.
//
//go:build commands

package commands

import (
	_ "github.com/fsouza/fake-gcs-server"
)
