package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// forwarder dials ports of a pod from inside its network namespace, as a container runtime does.
type forwarder struct{ pid int }

func (f forwarder) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	conn, err := dialInside(f.pid, port)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream)
		// The client is through; what the pod still answers must arrive.
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}

// dialInside connects to a port of the loopback address in the network namespace of a process.
func dialInside(pid int, port int32) (net.Conn, error) {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer home.Close()
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	conn, dialErr := net.DialTimeout("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), 10*time.Second)
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread stays locked and ends with its goroutine: nobody else gets the wrong namespace.
		return nil, err
	}
	runtime.UnlockOSThread()
	return conn, dialErr
}

// executor runs commands in the mount and network namespaces of a container's process.
type executor struct{ pid int }

func (e executor) ExecInContainer(ctx context.Context, _, _, _ string, command []string, in io.Reader,
	out, errOut io.WriteCloser, tty bool, _ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if tty {
		return errors.New("the test bed has no terminals: leave -t out")
	}
	arguments := append([]string{"-t", strconv.Itoa(e.pid), "-m", "-n", "--"}, command...)
	process := exec.CommandContext(ctx, "nsenter", arguments...)
	process.Env = environment(e.pid)
	if out != nil {
		process.Stdout = out
	}
	if errOut != nil {
		process.Stderr = errOut
	}
	if in != nil {
		// Not process.Stdin: Wait would hang on a client that never closes its input.
		input, err := process.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(input, in)
			_ = input.Close()
		}()
	}
	err := process.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.ExitCode()}
	}
	return err
}

// environment is the one that the container's process started with.
func environment(pid int) []string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	var variables []string
	for start, i := 0, 0; i < len(content); i++ {
		if content[i] == 0 {
			variables = append(variables, string(content[start:i]))
			start = i + 1
		}
	}
	return variables
}
