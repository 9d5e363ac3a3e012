// proxy-load is the other end of test/bench/proxy.bench.ts: a backend, a load generator and a plain io.Copy relay to compare with.
//
//	proxy-load backend ADDRESS            answers each line-free request of 128 bytes with 128 bytes; takes a PROXY v1 line first
//	proxy-load relay LISTEN TARGET        PROXY v1 line, then io.Copy both ways (splices on Linux)
//	proxy-load keepalive ADDRESS CONNS REQUESTS RATE [direct]    RATE 0 is as fast as it goes; prints JSON with p50 and p99 in
//	                                                    microseconds; direct: ADDRESS is the backend, the header is written here
//	proxy-load connect ADDRESS CONNS CONNECTIONS        one request on each connection
//	proxy-load bulk ADDRESS BYTES                       downloads BYTES
//	proxy-load idle ADDRESS CONNS                       one request each, then prints "ready" and waits for the end of stdin
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const message = 128

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	args := os.Args[1:]
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		check(err)
		return n
	}
	switch args[0] {
	case "backend":
		listen(args[1], serve)
	case "relay":
		listen(args[1], func(c *net.TCPConn) { relay(c, args[2]) })
	case "keepalive":
		keepalive(args[1], number(2), number(3), number(4), len(args) > 5 && args[5] == "direct")
	case "connect":
		connect(args[1], number(2), number(3))
	case "bulk":
		bulk(args[1], number(2))
	case "idle":
		idle(args[1], number(2))
	}
}

func listen(address string, handle func(*net.TCPConn)) {
	l, err := net.Listen("tcp", address)
	check(err)
	for {
		c, err := l.Accept()
		check(err)
		go handle(c.(*net.TCPConn))
	}
}

// A request of 128 bytes: its first 8 bytes say how many bytes the answer has.
func serve(c *net.TCPConn) {
	defer c.Close()
	r := bufio.NewReaderSize(c, 4096)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "PROXY ") {
		return
	}
	in := make([]byte, message)
	chunk := make([]byte, 1<<20)
	for {
		if _, err := io.ReadFull(r, in); err != nil {
			return
		}
		for left := int(binary.BigEndian.Uint64(in)); left > 0; {
			n := min(left, len(chunk))
			if _, err := c.Write(chunk[:n]); err != nil {
				return
			}
			left -= n
		}
	}
}

func relay(c *net.TCPConn, target string) {
	defer c.Close()
	t, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	u := t.(*net.TCPConn)
	defer u.Close()
	from, to := c.RemoteAddr().(*net.TCPAddr), c.LocalAddr().(*net.TCPAddr)
	fmt.Fprintf(u, "PROXY TCP4 %s %s %d %d\r\n", from.IP, to.IP, from.Port, to.Port)
	done := make(chan struct{})
	go func() { io.Copy(u, c); u.CloseWrite(); close(done) }()
	io.Copy(c, u)
	c.CloseWrite()
	<-done
}

func request(n int) []byte {
	out := make([]byte, message)
	binary.BigEndian.PutUint64(out, uint64(n))
	return out
}

func ask(c net.Conn, out, in []byte) {
	_, err := c.Write(out)
	check(err)
	_, err = io.ReadFull(c, in)
	check(err)
}

func keepalive(address string, conns, requests, rate int, direct bool) {
	var wg sync.WaitGroup
	each := make([][]float64, conns)
	start := time.Now()
	for i := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := net.Dial("tcp", address)
			check(err)
			defer c.Close()
			out, in := request(message), make([]byte, message)
			if direct {
				fmt.Fprint(c, "PROXY UNKNOWN\r\n")
			}
			for j := range requests / conns {
				if rate > 0 {
					time.Sleep(time.Until(start.Add(time.Duration(j*conns+i) * time.Second / time.Duration(rate))))
				}
				t := time.Now()
				ask(c, out, in)
				each[i] = append(each[i], float64(time.Since(t).Nanoseconds())/1000)
			}
		}()
	}
	wg.Wait()
	report(each, start)
}

func connect(address string, conns, connections int) {
	var wg sync.WaitGroup
	each := make([][]float64, conns)
	start := time.Now()
	for i := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out, in := request(message), make([]byte, message)
			for range connections / conns {
				t := time.Now()
				c, err := net.Dial("tcp", address)
				check(err)
				ask(c, out, in)
				c.Close()
				each[i] = append(each[i], float64(time.Since(t).Nanoseconds())/1000)
			}
		}()
	}
	wg.Wait()
	report(each, start)
}

func bulk(address string, n int) {
	c, err := net.Dial("tcp", address)
	check(err)
	start := time.Now()
	_, err = c.Write(request(n))
	check(err)
	got, err := io.CopyN(struct{ io.Writer }{io.Discard}, c, int64(n))
	check(err)
	json.NewEncoder(os.Stdout).Encode(map[string]any{"bytes": got, "seconds": time.Since(start).Seconds()})
}

func idle(address string, conns int) {
	all := make([]net.Conn, conns)
	for i := range all {
		c, err := net.Dial("tcp", address)
		check(err)
		ask(c, request(message), make([]byte, message))
		all[i] = c
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	for _, c := range all {
		c.Close()
	}
}

func report(each [][]float64, start time.Time) {
	var all []float64
	for _, part := range each {
		all = append(all, part...)
	}
	sort.Float64s(all)
	at := func(p float64) float64 { return all[int(p*float64(len(all)-1))] }
	json.NewEncoder(os.Stdout).Encode(map[string]any{"count": len(all), "seconds": time.Since(start).Seconds(), "p50": at(0.5), "p99": at(0.99)})
}
