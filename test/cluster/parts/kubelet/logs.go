package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// logOptions are the query parameters that the API server hands on from pods/log.
type logOptions struct {
	follow     bool
	timestamps bool
	since      time.Time
	tail       int
	limit      int64
}

func logOptionsOf(query url.Values) (logOptions, error) {
	options := logOptions{follow: query.Get("follow") == "true", timestamps: query.Get("timestamps") == "true", tail: -1, limit: -1}
	var err error
	if value := query.Get("tailLines"); value != "" {
		if options.tail, err = strconv.Atoi(value); err != nil {
			return options, err
		}
	}
	if value := query.Get("limitBytes"); value != "" {
		if options.limit, err = strconv.ParseInt(value, 10, 64); err != nil {
			return options, err
		}
	}
	if value := query.Get("sinceTime"); value != "" {
		if options.since, err = time.Parse(time.RFC3339Nano, value); err != nil {
			return options, err
		}
	}
	if value := query.Get("sinceSeconds"); value != "" {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return options, err
		}
		options.since = time.Now().Add(-time.Duration(seconds) * time.Second)
	}
	return options, nil
}

func (k *kubelet) logs(w http.ResponseWriter, r *http.Request) {
	container, err := k.container(r)
	if err != nil {
		refuse(w, err)
		return
	}
	options, err := logOptionsOf(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := container.Log
	if r.URL.Query().Get("previous") == "true" {
		if path = container.Previous; path == "" {
			http.Error(w, "previous terminated container not found", http.StatusBadRequest)
			return
		}
		options.follow = false
	}
	file, err := os.Open(path)
	if err != nil {
		refuse(w, err)
		return
	}
	defer file.Close()
	if err := seekTail(file, options.tail); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusOK)
	flush(w)
	k.copyLines(w, r, file, options)
}

// copyLines writes the lines of a log file, and those that come, until the client or the container is gone.
func (k *kubelet) copyLines(w http.ResponseWriter, r *http.Request, file *os.File, options logOptions) {
	reader := bufio.NewReader(file)
	var partial []byte
	for last := false; ; {
		line, err := reader.ReadBytes('\n')
		partial = append(partial, line...)
		if err == nil {
			text := logLine(partial, options)
			partial = nil
			if options.limit >= 0 && int64(len(text)) > options.limit {
				text = text[:options.limit]
			}
			if _, err := w.Write(text); err != nil {
				return
			}
			if options.limit >= 0 {
				if options.limit -= int64(len(text)); options.limit == 0 {
					return
				}
			}
			continue
		}
		if !errors.Is(err, io.EOF) || !options.follow || last {
			return
		}
		flush(w)
		select {
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
		current, err := k.container(r)
		// One more round after the end, for what was written before it.
		last = err != nil || current.Log != file.Name() || !current.Running
	}
}

func flush(w http.ResponseWriter) {
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
}

// logLine takes the time stamp off a stored line ("TIME TEXT"), or drops the line when it is too old.
func logLine(line []byte, options logOptions) []byte {
	stamp, text, found := bytes.Cut(line, []byte(" "))
	if !found {
		return line
	}
	if !options.since.IsZero() {
		if written, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil && written.Before(options.since) {
			return nil
		}
	}
	if options.timestamps {
		return line
	}
	return text
}

// seekTail moves to the start of the last n lines; a negative n is the whole file.
func seekTail(file *os.File, n int) error {
	if n < 0 {
		return nil
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	text := strings.TrimSuffix(string(content), "\n")
	offset := len(content)
	for ; n > 0 && offset > 0; n-- {
		offset = strings.LastIndexByte(text, '\n') + 1
		text = text[:max(offset-1, 0)]
	}
	_, err = file.Seek(int64(offset), io.SeekStart)
	return err
}
