// Command caddyfile runs the parser that CoreDNS uses over many inputs, for the differential test.
// It reads one JSON object a line from standard input and answers each with one JSON object a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/coredns/caddy/caddyfile"
)

type input struct {
	Path       string            `json:"path"`       // absolute path of the main file; it need not exist
	Corefile   []byte            `json:"corefile"`   // base64
	Files      map[string][]byte `json:"files"`      // absolute path to content, base64
	Env        map[string]string `json:"env"`        // whole environment of the parse
	Directives []string          `json:"directives"` // null: any name is taken
}

type output struct {
	Blocks []caddyfile.ServerBlock `json:"blocks"`
	Error  string                  `json:"error"`
}

func main() {
	log.SetOutput(io.Discard)
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	writer := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	for {
		var in input
		if err := decoder.Decode(&in); err == io.EOF {
			return
		} else if err != nil {
			log.SetOutput(os.Stderr)
			log.Fatal(err)
		}
		if err := encoder.Encode(parse(in)); err != nil {
			log.SetOutput(os.Stderr)
			log.Fatal(err)
		}
	}
}

func parse(in input) output {
	os.Clearenv()
	for name, value := range in.Env {
		os.Setenv(name, value)
	}
	for path, content := range in.Files {
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return output{Error: "bed: " + err.Error()}
		}
		defer os.Remove(path)
	}
	blocks, err := caddyfile.Parse(in.Path, bytes.NewReader(in.Corefile), in.Directives)
	if err != nil {
		return output{Blocks: blocks, Error: err.Error()}
	}
	return output{Blocks: blocks}
}
