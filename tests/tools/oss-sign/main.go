// Command oss-sign signs requests as Alibaba's own Go SDK does, to compare with what another client signed.
//
// It reads a JSON list of requests on standard input and writes the list of their Authorization headers. Sends nothing.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/aliyun/aliyun-oss-go-sdk/oss"
)

type request struct {
	Method  string            `json:"method"`
	Bucket  string            `json:"bucket"`
	Object  string            `json:"object"`
	Params  map[string]string `json:"params"`
	Headers map[string]string `json:"headers"`
}

// signature keeps what the SDK would have sent, and answers with nothing.
type signature struct{ authorization string }

func (kept *signature) RoundTrip(sent *http.Request) (*http.Response, error) {
	kept.authorization = sent.Header.Get("Authorization")
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: sent}, nil
}

func run(id, secret string) error {
	var requests []request
	if err := json.NewDecoder(os.Stdin).Decode(&requests); err != nil {
		return fmt.Errorf("standard input is not a list of requests: %w", err)
	}
	kept := &signature{}
	client, err := oss.New("http://127.0.0.1", id, secret, oss.HTTPClient(&http.Client{Transport: kept}), oss.ForcePathStyle(true))
	if err != nil {
		return err
	}
	signed := make([]string, 0, len(requests))
	for _, asked := range requests {
		params := map[string]interface{}{}
		for name, value := range asked.Params {
			params[name] = value
		}
		answer, err := client.Conn.Do(asked.Method, asked.Bucket, asked.Object, params, asked.Headers, nil, 0, nil)
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", asked.Method, asked.Bucket, asked.Object, err)
		}
		answer.Body.Close()
		signed = append(signed, kept.authorization)
	}
	return json.NewEncoder(os.Stdout).Encode(signed)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: oss-sign ACCESS-KEY-ID ACCESS-KEY-SECRET < requests.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "oss-sign:", err)
		os.Exit(1)
	}
}
