//go:build tools

// Package parts names the commands that the test bed builds from this module.
package parts

import _ "github.com/distribution/distribution/v3/cmd/registry"
