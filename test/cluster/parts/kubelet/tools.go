//go:build tools

package main

import (
	_ "k8s.io/cri-streaming/pkg/streaming/portforward"
	_ "k8s.io/cri-streaming/pkg/streaming/remotecommand"
	_ "k8s.io/utils/exec"
)
