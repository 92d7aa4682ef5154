// Package commands keeps `go mod tidy` honest about what the testbed builds.
//
//go:build commands

package commands

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/etcdutl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
