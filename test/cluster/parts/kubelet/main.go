// Command kubelet is the bed's stand-in for a kubelet's HTTPS endpoint: logs, exec and port-forward of the processes
// that the bed runs as pods, on Kubernetes' own streaming server. It takes what runs from a file that the bed rewrites
// by rename and reads that file anew for each request.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// Container is one process of a pod, with the files that hold what it and its predecessor wrote.
type Container struct {
	Pid      int    `json:"pid"`
	Running  bool   `json:"running"`
	Log      string `json:"log"`
	Previous string `json:"previous"`
}

// Pod is what the bed tells about a pod. Pid is the process that holds its network namespace.
type Pod struct {
	Pid        int                  `json:"pid"`
	Containers map[string]Container `json:"containers"`
}

type kubelet struct {
	state string
}

func main() {
	address := flag.String("address", "127.0.0.1:10250", "address to listen on")
	state := flag.String("state", "", "JSON file: namespace/name of a pod to its processes")
	cert := flag.String("cert", "", "serving certificate")
	key := flag.String("key", "", "key of the serving certificate")
	clientCA := flag.String("client-ca", "", "authority of the client certificates")
	flag.Parse()

	authority, err := os.ReadFile(*clientCA)
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		log.Fatalf("no certificate in %s", *clientCA)
	}
	server := &http.Server{
		Addr:    *address,
		Handler: routes(&kubelet{state: *state}),
		// The streaming protocols upgrade HTTP/1.1; with HTTP/2 they could not.
		TLSConfig: &tls.Config{
			ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs:  clients,
			NextProtos: []string{"http/1.1"},
		},
		ReadHeaderTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServeTLS(*cert, *key))
}

func routes(k *kubelet) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.logs)
	mux.HandleFunc("/portForward/{namespace}/{pod}", k.portForward)
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", k.exec)
	return mux
}

var errNotFound = errors.New("not found")

func (k *kubelet) pod(r *http.Request) (Pod, error) {
	name := r.PathValue("namespace") + "/" + r.PathValue("pod")
	content, err := os.ReadFile(k.state)
	if err != nil {
		return Pod{}, err
	}
	var pods map[string]Pod
	if err := json.Unmarshal(content, &pods); err != nil {
		return Pod{}, err
	}
	pod, ok := pods[name]
	if !ok {
		return Pod{}, fmt.Errorf("pod %q %w", name, errNotFound)
	}
	return pod, nil
}

func (k *kubelet) container(r *http.Request) (Container, error) {
	pod, err := k.pod(r)
	if err != nil {
		return Container{}, err
	}
	container, ok := pod.Containers[r.PathValue("container")]
	if !ok {
		return Container{}, fmt.Errorf("container %q %w", r.PathValue("container"), errNotFound)
	}
	return container, nil
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, errNotFound) {
		status = http.StatusNotFound
	}
	http.Error(w, err.Error(), status)
}

func (k *kubelet) portForward(w http.ResponseWriter, r *http.Request) {
	pod, err := k.pod(r)
	if err != nil {
		refuse(w, err)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{pod.Pid}, r.PathValue("pod"), "", options,
		4*time.Hour, remotecommand.DefaultStreamCreationTimeout, portforward.SupportedProtocols)
}

func (k *kubelet) exec(w http.ResponseWriter, r *http.Request) {
	container, err := k.container(r)
	if err != nil {
		refuse(w, err)
		return
	}
	if !container.Running {
		refuse(w, fmt.Errorf("container %q is not running", r.PathValue("container")))
		return
	}
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{container.Pid}, r.PathValue("pod"), "", r.PathValue("container"),
		r.URL.Query()["command"], options, 4*time.Hour, remotecommand.DefaultStreamCreationTimeout,
		remotecommand.SupportedStreamingProtocols)
}
