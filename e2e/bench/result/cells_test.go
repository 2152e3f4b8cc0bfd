// SPDX-License-Identifier: Apache-2.0

package result

import "testing"

func TestCells(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"a large count has separators":            {Count(1234567), "1,234,567"},
		"three digits have none":                  {Count(999), "999"},
		"a large rate is rounded":                 {Count(26483.8), "26,484"},
		"a small rate keeps a digit":              {Count(1.73), "1.7"},
		"a small whole number stays whole":        {Count(3), "3"},
		"nothing is 0":                            {Count(0), "0"},
		"all is 100 percent":                      {Percent(1), "100 %"},
		"one in a million missing is not all":     {Percent(0.999999), "> 99.99 %"},
		"a few in a thousand missing show":        {Percent(0.9987), "99.87 %"},
		"a part has one digit":                    {Percent(0.0488), "4.9 %"},
		"short times have two digits behind":      {Millis(0.921), "0.92"},
		"times of tens have one":                  {Millis(17.647), "17.6"},
		"long times have none":                    {Millis(4999.7), "5000"},
		"memory is rounded to the nearest":        {Mebibytes(200<<20 - 1), "200 MiB"},
		"a byte over half a mebibyte is not lost": {Mebibytes(1<<19 + 1), "1 MiB"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %q, want %q", tc.got, tc.want)
			}
		})
	}
}
