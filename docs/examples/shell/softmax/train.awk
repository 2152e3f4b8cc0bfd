# SPDX-License-Identifier: Apache-2.0
#
# Softmax regression. Lines hold the pixels of an image, 0 to 16, and the digit that it shows. Prints a report as JSON after
# each epoch: milepost-report takes these lines as they are.

{ for (i = 1; i < NF; i++) image[NR, i] = $i / 16; digit[NR] = $NF; inputs = NF - 1 }

END {
    cut = int(NR / 5) # the first fifth is held out
    for (epoch = 1; epoch <= epochs; epoch++) {
        loss = 0
        for (n = cut + 1; n <= NR; n++) loss += learn(n)
        right = 0
        for (n = 1; n <= cut; n++) right += predict(n) == digit[n]
        printf "{\"step\": %d, \"total\": %d, \"metrics\": {\"loss\": %.4f, \"accuracy\": %.4f}}\n",
            epoch, epochs, loss / (NR - cut), right / cut
        fflush()
    }
    print "{\"complete\": true}"
    printf "%.1f %% of %d images that it did not learn from are read right\n", 100 * right / cut, cut >"/dev/stderr"
}

# learn moves the weights a little down the slope of the loss.
function learn(n,  class, i, slope, loss) {
    predict(n)
    loss = -log(probability[digit[n]])
    for (class = 0; class < 10; class++) {
        slope = probability[class] - (class == digit[n])
        for (i = 1; i <= inputs; i++) weight[class, i] -= 0.05 * slope * image[n, i]
        bias[class] -= 0.05 * slope
    }
    return loss
}

# predict fills in the probability of each class and returns the likeliest.
function predict(n,  class, i, sum, total, best) {
    total = best = 0
    for (class = 0; class < 10; class++) {
        sum = bias[class]
        for (i = 1; i <= inputs; i++) sum += weight[class, i] * image[n, i]
        total += probability[class] = exp(sum)
    }
    for (class = 0; class < 10; class++) {
        probability[class] /= total
        if (probability[class] > probability[best]) best = class
    }
    return best
}
